/** The formulas of `docs/contract/events.md#formulas`. Pure; a rate over zero searches is 0. */

export interface SearchSums {
  readonly searches: number
  readonly zero_results: number
  readonly searches_with_click: number
  readonly searches_with_purchase: number
}
export interface ProductSums {
  readonly views: number
  readonly clicks: number
  readonly add_to_carts: number
  readonly purchases: number
  readonly cart_value: number
  readonly revenue: number
}
export interface QuerySums extends SearchSums {
  readonly clicks: number
  readonly add_to_carts: number
  readonly purchases: number
  readonly cart_value: number
  readonly revenue: number
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole)

export const searchRates = (sums: SearchSums) => ({
  results_found_rate: share(sums.searches - sums.zero_results, sums.searches),
  ctr: share(sums.searches_with_click, sums.searches),
  conversion_rate: share(sums.searches_with_purchase, sums.searches)
})

/**
 * Decision: a query without a search in the range (only its clicks or purchases fall into it) has neither a click
 * rate nor a no-click rate.
 */
export const ratesOf = (sums: QuerySums) => {
  const rates = searchRates(sums)
  return {
    ...rates,
    no_click_rate: sums.searches === 0 ? 0 : 1 - rates.ctr,
    revenue_per_search: share(sums.revenue, sums.searches)
  }
}
export const zeroResultRate = (sums: Pick<QuerySums, "searches" | "zero_results">): number =>
  share(sums.zero_results, sums.searches)
