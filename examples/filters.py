"""What filter a threshold asks for, and what it does to pairs of other resemblances (Broder 2000, §3 and §4)."""

import ndcore as nd

for threshold in (0.5, 0.7, 0.8, 0.9, 0.95):
    print(f"{threshold}: {nd.design_filter(threshold)}")
print()
print("AltaVista's 6 x 14, need 2:")
for rho in (0.5, 0.77, 0.909, 0.975, 0.99):
    print(f"  of pairs at resemblance {rho}, {nd.pass_probability(rho):.3g} become candidates")
