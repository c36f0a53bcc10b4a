"""Another name of `ndcore.pairs.chains`."""

from ndcore.pairs.chains import Chains, chains, guarded, to_representatives

__all__ = ["Chains", "chains", "guarded", "to_representatives"]
