"""What filter a threshold asks for, and what it does to pairs of other resemblances (Broder 2000, §3 and §4)."""

import ndcore as nd

for threshold in (0.5, 0.7, 0.8, 0.9, 0.95):
    print(f"{threshold}: {nd.design_filter(threshold)}")
print()
print("AltaVista's 6 x 14, need 2:")
for rho in (0.5, 0.77, 0.909, 0.975, 0.99):
    print(f"  of pairs at resemblance {rho}, {nd.pass_probability(rho):.3g} become candidates")
print(f"  half of them at {nd.ALTAVISTA.half:.3f}; {nd.ALTAVISTA.bytes_per_document} bytes a document")
print()
print("The same, asked for: 48 bytes a document, at most 1.1 % missed at 0.975 and 1 % passed at 0.77:")
found = nd.design_filter(0.975, miss=0.011, bytes_per_document=48, false_candidates=(0.77, 0.01), documents=200_000_000)
print(f"  {found}")
print()
print("Within 64 bytes a document, the least error where every resemblance is equally frequent:")
found = nd.design_filter(0.9, bytes_per_document=64, prior=lambda resemblance: 1.0)
print(f"  {found}")
print(f"  {found.errors(lambda resemblance: 1.0)}")
