/** What the address of an empty page answers, depending on the time that has passed. */
import { Effect, Result } from "effect"
import { expect, it } from "vitest"
import { PageEmpty, PageGone } from "../../../src/seo/errors.ts"
import { htmlReply } from "../../../src/seo/page-view.ts"
import type { StoredPage } from "../../../src/seo/pages-repository.ts"
import type { StoredRule } from "../../../src/seo/rules-repository.ts"

const rule = { url_template: "https://shop.example/brands/#SLUG#", active: true } as StoredRule
const EMPTY_SINCE = Date.UTC(2026, 10, 1)
const page = {
  slug: "acme",
  value: "Acme",
  status: "noindex",
  canonical: null,
  moved_to: null,
  next: null,
  prev: "bolt",
  related: ["nut", "unknown"],
  empty_since: EMPTY_SINCE
} as unknown as StoredPage
const labels = new Map([["nut", "Nut <&>"]])
const at = (days: number, more: Partial<StoredPage> = {}) =>
  Effect.runSync(Effect.result(htmlReply(rule, { ...page, ...more }, labels, EMPTY_SINCE + days * 86_400_000)))
const refusal = (...given: Parameters<typeof at>) => {
  const found = at(...given)
  return Result.isFailure(found) ? found.failure : undefined
}

it("is empty for 14 days, gone afterwards, and says where to go", () => {
  const links = [{ label: "Nut <&>", url: "https://shop.example/brands/nut" }]
  for (const days of [0, 13.99]) {
    expect(refusal(days)).toBeInstanceOf(PageEmpty)
    expect(refusal(days)).toMatchObject({ links })
  }
  for (const days of [14, 400]) {
    expect(refusal(days)).toBeInstanceOf(PageGone)
    expect(refusal(days)).toMatchObject({ links })
  }
  expect(refusal(0, { status: "gone" })).toBeInstanceOf(PageGone)
  const moved = at(20, { moved_to: "bolt" })
  expect(Result.isSuccess(moved) && [moved.success.status, moved.success.headers.location]).toEqual([
    301,
    "https://shop.example/brands/bolt"
  ])
})
