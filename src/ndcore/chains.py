"""Another name of `ndcore.clusters.chains`."""

from ndcore.clusters.chains import Chains, chains, guarded, to_representatives

__all__ = ["Chains", "chains", "guarded", "to_representatives"]
