/* The C core against its definitions: every length × offset between guard pages, every variant, every seam.
 * Expectations come from literals and from naive.h, never from another kernel. Prints "N passed, N failed". */
#include "check.h"

#include "bitmaps.h"
#include "compressed.h"
#include "digest.h"
#include "entries.h"
#include "equal.h"
#include "fastsketch.h"
#include "feature.h"
#include "gf2.h"
#include "meetings.h"
#include "minhash.h"
#include "modsketch.h"
#include "naive.h"
#include "ndcore.h"
#include "jsonl.h"
#include "markup.h"
#include "nfkc.h"
#include "nfkc_tables.h"
#include "grams.h"
#include "shorts.h"
#include "greedy.h"
#include "holders.h"
#include "lookup.h"
#include "candidates.h"
#include "cluster.h"
#include "sets.h"
#include "signature.h"
#include "sort.h"
#include "units.h"
#include "pipeline.h"
#include "places.h"
#include "postings.h"
#include "prefix.h"
#include "recent.h"
#include "repeats.h"
#include "substrings.h"
#include "suffixes.h"
#include "probes.h"
#include "simhash.h"
#include "scan.h"
#include "table.h"
#include "utf8.h"
#include "vocabulary.h"
#include "weighted.h"
#include "winnow.h"

#include <pthread.h>

size_t nd_table_steps;                   /* slots that searches passed, what they read; counted by what is built with -DND_COUNT_STEPS */

static uint8_t input[2][LONGEST + 64];   /* the pattern; random bytes */

#include "changing.h"
#include "test_variants.h"
#include "test_table.h"
#include "test_gf2.h"
#include "test_rabin.h"
#include "test_text.h"
#include "test_digest.h"
#include "test_equal.h"
#include "test_jsonl.h"
#include "test_markup.h"
#include "test_nfkc.h"
#include "test_scan.h"
#include "test_minhash.h"
#include "test_winnow.h"
#include "test_simhash.h"
#include "test_weighted.h"
#include "test_sets.h"
#include "test_entries.h"
#include "test_holders.h"
#include "test_repeats.h"
#include "test_postings.h"
#include "test_candidates.h"
#include "test_prefix.h"
#include "test_bitmaps.h"
#include "test_grams.h"
#include "test_shorts.h"
#include "test_greedy.h"
#include "test_compressed.h"
#include "test_hamming.h"
#include "test_substrings.h"
#include "test_pipeline.h"
#include "test_feature.h"
#include "test_ndcore.h"

static void test_simhash_variant(const char *variant)
{
    test_equal_weights(variant);
    test_many_groups(variant);
    test_weights(variant);
}

static void test_rabin_variant(const char *variant)
{
    test_rabin();
    test_symbol_windows(variant);
    test_super_shingles();
}

static void test_hamming_variant(const char *variant)
{
    test_tables(variant);
    test_hamming_index(variant);
    test_substrings(variant);
    test_scan_codes(variant);
}

/* test_core [rabin]: all tests, or those of the variants of Rabin fingerprints */
int main(int argc, char **argv)
{
    fill_pattern(input[0], sizeof input[0]);
    fill_random(input[1], sizeof input[1]);
    if (argc > 1 && strcmp(argv[1], "rabin") == 0) {
        each_variant("rabin", &nd_rabin_choice, test_rabin_variant);
        return report();
    }
    test_mixers();
    test_table();
    test_crowded_tables();
    test_gf2();
    each_variant("rabin", &nd_rabin_choice, test_rabin_variant);
    each_variant("text", &nd_text_choice, test_text_variant);
    test_code_points();
    test_utf8();
    test_other_token_polynomials();
    test_nfkc();
    test_scan();
    test_lines_of_json();
    test_strings_of_json();
    test_texts_as_strings_of_json();
    test_work_of_tags();
    test_text_between_tags();
    each_variant("minhash", &nd_minhash_choice, test_minhash_variant);
    test_bottom();
    test_winnow();
    each_variant("modsketch", &nd_modsketch_choice, test_modsketch);
    each_variant("simhash", &nd_simhash_choice, test_simhash_variant);
    each_variant("weighted", &nd_weighted_choice, test_weighted);
    test_logarithms();
    test_weight_table();
    test_counts();
    test_sorting();
    test_chosen_words();
    test_sets();
    test_overlaps();
    test_entries();
    test_holders();
    test_repeated_entries();
    test_repeated_rows();
    test_suffixes();
    test_sorted_places();
    test_counted_characters();
    test_vocabulary();
    test_ranges_of_tokens();
    test_counted_documents();
    test_postings();
    test_recent();
    test_shared_documents();
    test_expansion();
    test_prefix();
    each_variant("bitmaps", &nd_bitmaps_choice, test_bitmaps_near);
    test_meetings();
    test_clusters();
    test_grams();
    test_grams_are_spread();
    test_shorts();
    test_steps_of_shorts();
    test_greedy();
    test_codes();
    test_coding();
    each_variant("hamming", &nd_hamming_choice, test_hamming_variant);
    test_hostile_blocks();
    test_changing_blocks();
    test_changing_tables();
    test_long_keys();
    test_shingles();
    test_cost_of_widths();
    test_stop_words();
    test_labels();
    test_features();
    test_super_features();
    each_variant("digest", &nd_digest_choice, test_digests);
    test_equal();
    test_common_of_large_sets();
    test_sketchers();
    test_comparison_of_sets();
    return report();
}
