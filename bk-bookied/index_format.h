/*
 * index_format.h - bytes of an index file, for its writer and its reader.
 *
 * pages   4096 bytes: sum 4, kind 2, count 2, then records or states; in the
 *         order they filled
 * table   24 bytes a page: ledger 8 and first entry 8 of its first record (or
 *         ledger of its first state, 0), the first page with a record that
 *         reaches into this one 4, kind 4
 * filter  filter.h
 * foot    magic 8, version 4, low 4, high 4, tier 4, seed 4, pages 4,
 *         records 8, ledgers 8, position 8, filter's size 4, sum of table
 *         and filter 4, sum of the foot 4
 *
 * The sum of a page starts from the seed plus the page's number, that of table
 * and filter from the seed.
 */
#ifndef BOOKIE_INDEX_FORMAT_H
#define BOOKIE_INDEX_FORMAT_H

#include "bk-bookied/mix.h"
#include "bk-bookied/record.h"

#define INDEX_PAGE 4096
#define PAGE_HEAD 8
#define PAGE_RECORDS ((INDEX_PAGE - PAGE_HEAD) / RECORD_SIZE)
#define TABLE_SLOT 24
#define FOOT_MAGIC "BKindex\n"
#define FOOT_SIZE 68
#define FOOT_SUM_AT (FOOT_SIZE - 4)

static inline uint32_t
page_sum(uint32_t seed, uint32_t number, const uint8_t *page)
{
	return (mix_sum(seed + number, page + 4, INDEX_PAGE - 4));
}

#endif
