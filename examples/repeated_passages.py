"""Cut passages that repeat in a collection: every run of at least 8 words that an earlier text has, exactly."""

import ndcore as nd

letters = [
    "Dear Ann, the bees are well. This message and its attachments are for the reader named above alone.",
    "Dear Bob, the roof leaks again. This message and its attachments are for the reader named above alone.",
    "Dear Cleo, thank you for the plums and for the long letter about the glass works in the valley.",
]
found = nd.repeats(letters, min_tokens=8)
print(f"{found.repeated} of {found.tokens} words are repeated")
for letter, cleaned in zip(letters, found.cleaned(), strict=True):
    print("cut " if cleaned != letter else "kept", cleaned)
