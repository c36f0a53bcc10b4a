# The kernels for Cython: ``from ndcore cimport rabin_init, rabin_sliding, …``, with the headers in ndcore.get_include().
# The forms that run are those that ndcore has chosen. rabin.h and text.h say what each function takes and promises.
from ndcore._minhash cimport Sink
from ndcore._rabin cimport (
    nd_rabin, nd_rabin_byte_window, nd_rabin_symbol_window, rabin_byte_window_init, rabin_bytes, rabin_init, rabin_sliding,
    rabin_symbol_window_init, rabin_symbols, rabin_words)
from ndcore._text cimport (
    ND_BYTE, ND_CHAR, ND_GRAPHEME, ND_LINE, ND_TOKENS, ND_WORD, nd_text, nd_text_table, nd_text_tape_size, nd_unit,
    text_open, text_symbols, text_table_init)
