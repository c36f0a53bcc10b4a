"""Words of a text."""


def split_words(text):
    """Split at everything that is no letter."""
    while text:
        start = next((at for at, letter in enumerate(text) if letter.isalpha()), len(text))
        text = text[start:]
        end = next((at for at, letter in enumerate(text) if not letter.isalpha()), len(text))
        if end:
            yield text[:end].casefold()
        text = text[end:]
