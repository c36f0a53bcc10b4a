# The kernels for Cython: ``from ndcore cimport rabin_init, rabin_sliding, …``, with the headers in ndcore.get_include().
# The forms that run are those that ndcore has chosen. The headers say what each function takes and promises: nd_NAME there
# is NAME here. A module calls import_ndcore() when it is imported.
from ndcore._minhash cimport (
    Sink, minhash_coefficients, minima32_take, minima64_take, nd_minima32, nd_minima64)
from ndcore._pipeline cimport (
    built_struct_sizes, nd_shingled, nd_shingling, nd_sink, shingle, shingle_scratch_size, shingling_init, struct_sizes)
from ndcore._rabin cimport (
    nd_rabin, nd_rabin_byte_window, nd_rabin_symbol_window, rabin_byte_window_init, rabin_bytes, rabin_init, rabin_sliding,
    rabin_symbol_window_init, rabin_symbols, rabin_words)
from ndcore._text cimport (
    ND_BYTE, ND_CHAR, ND_GRAPHEME, ND_LINE, ND_TOKENS, ND_WORD, nd_text, nd_text_table, nd_text_tape_size, nd_unit,
    text_open, text_symbols, text_table_init)
from ndcore._simhash cimport nd_simhash, simhash_open, simhash_take, simhash_value


cdef inline int import_ndcore() except -1:
    """Raise ImportError if this module was compiled with the headers of another ndcore, whose structs have other sizes."""
    if built_struct_sizes() != struct_sizes():
        raise ImportError("this module was compiled with the headers of another version of ndcore than the one that is "
                          "installed, and their structs differ: compile it again")
    return 0
