"""What people call duplicates: pairs drawn from a pool, their answers, and the measure and threshold that agree with them."""
