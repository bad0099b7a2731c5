/** Handlers of landing pages: the rule is looked up before the body is read. */
import { createHash } from "node:crypto"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Clock, Effect } from "effect"
import { implement } from "../api/implement.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { likeOf } from "../engine-plane/like-pattern.ts"
import { Conflict, inputInvalid, NotFound } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import { Reply } from "../http/reply.ts"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed, reachesCollection, reachesEverything } from "../identity/reach.ts"
import { inSlices } from "../suggestions/typeahead/sliced.ts"
import * as contract from "./contract.ts"
import { htmlReply, linkedSlugs, shownPage } from "./page-view.ts"
import { isAbsolute, ruleFieldsOf, urlOf } from "./rule-input.ts"
import type { StoredRule } from "./rules-repository.ts"
import type { SeoRule } from "./schema.ts"
import { missingRule, SeoRules } from "./seo-rules.ts"
import { type SitemapEntry, sitemapIndex, sitemapParts } from "./sitemap.ts"

const shownRule = ({ organization_id: _, ...rule }: StoredRule): SeoRule => rule
/** A rule beyond the key's reach is treated as missing. */
const foundIn =
  (rules: SeoRules["Service"]) =>
  (caller: Caller, id: string): Effect.Effect<StoredRule, NotFound> =>
    Effect.flatMap(rules.get(caller.organizationId, id), (rule) =>
      reachesCollection(caller, rule.collection) ? Effect.succeed(rule) : Effect.fail(missingRule(id))
    )

/** Checks of a body that need the collection. */
const makeFields = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  return Effect.fnUntraced(function* (caller: Caller, body: unknown) {
    const fields = ruleFieldsOf(body)
    if ("_tag" in fields) return yield* fields
    if (!reachesCollection(caller, fields.collection)) return yield* collectionClosed()
    const collection = resolveCollection(contextOf(caller.organizationId), fields.collection)
    if (collection === undefined) return yield* inputInvalid("collection", "Collection not found")
    const field = collection.schema.fields.find(({ name }) => name === fields.facet_field)
    if (field === undefined || !field.facet || !["string", "string[]"].includes(field.type))
      return yield* inputInvalid("facet_field", "A facet field of text of the collection")
    return fields
  })
})

const HTML = /\.html$/
const XML = "application/xml; charset=utf-8"
/** An answer that a crawler already has is not sent again. */
const xmlReply = (text: string, known: string | undefined): Reply => {
  const etag = `W/"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"`
  return known === etag ? new Reply(304, "", XML, { etag }) : new Reply(200, text, XML, { etag })
}
/** Where a site serves the parts of a sitemap: on its own host, whatever ours is called. */
const partUrl = (rule: StoredRule, n: number): string =>
  new URL(`/sitemap-${rule.id}-${n}.xml`, urlOf(rule.url_template, "a")).href

function* entriesOf(
  { url_template }: StoredRule,
  rows: ReadonlyArray<{ readonly slug: string; readonly changed_at: number }>
): Generator<SitemapEntry> {
  for (const { changed_at, slug } of rows) yield { url: urlOf(url_template, slug), changed_at }
}
const makeSitemap = Effect.map(SeoRules, (rules) =>
  Effect.fnUntraced(function* (rule: StoredRule, part: string | undefined, etag: string | undefined) {
    if (!isAbsolute(rule.url_template))
      return yield* new Conflict({
        message: "`url_template` has no host, which addresses in a sitemap have; replace the rule with one that has."
      })
    const rows = rule.active ? yield* rules.indexed(rule) : []
    const parts = yield* inSlices(sitemapParts(entriesOf(rule, rows)))
    if (part === undefined || part === "")
      return xmlReply(parts.length === 1 ? parts[0]!.text : sitemapIndex(parts, (n) => partUrl(rule, n)), etag)
    const one = parts[Number(part) - 1]
    if (one === undefined) return yield* new NotFound({ message: `The sitemap has ${parts.length} parts.` })
    return xmlReply(one.text, etag)
  })
)

const makeRuleRoutes = Effect.gen(function* () {
  const rules = yield* SeoRules
  const found = foundIn(rules)
  const fieldsOf = yield* makeFields
  return [
    implement(
      contract.listSeoRules,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        const data = yield* rules.list(caller.organizationId, {
          cursor,
          limit: limit + 1,
          collections: reachesEverything(caller) ? undefined : caller.key.collections.map(likeOf)
        })
        return pageOf(data.map(shownRule), limit, byId)
      })
    ),
    implement(
      contract.createSeoRule,
      Effect.fnUntraced(function* ({ caller, payload }) {
        return shownRule(yield* rules.create(caller.organizationId, yield* fieldsOf(caller, yield* payload)))
      })
    ),
    implement(contract.getSeoRule, ({ caller, params }) => Effect.map(found(caller, params.ruleId), shownRule)),
    implement(
      contract.updateSeoRule,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { id } = yield* found(caller, params.ruleId)
        return shownRule(yield* rules.replace(caller.organizationId, id, yield* fieldsOf(caller, yield* payload)))
      })
    ),
    implement(contract.deleteSeoRule, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.ruleId), ({ id }) => rules.remove(caller.organizationId, id))
    )
  ]
})

export const routes = Effect.gen(function* () {
  const rules = yield* SeoRules
  const found = foundIn(rules)
  const sitemap = yield* makeSitemap
  return [
    ...(yield* makeRuleRoutes),
    implement(contract.generateSeoPages, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.ruleId), rules.generate)
    ),
    implement(contract.auditSeoPages, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.ruleId), rules.audit)
    ),
    implement(
      contract.listSeoPages,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        const rule = yield* found(caller, params.ruleId)
        const { cursor, limit, status } = yield* query
        const rows = yield* rules.pages(rule, {
          cursor,
          limit: limit + 1,
          status: status === "" ? undefined : status
        })
        return pageOf(
          rows.map((row) => shownPage(rule, row)),
          limit,
          ({ slug }) => slug
        )
      })
    ),
    implement(
      contract.getSeoPage,
      Effect.fnUntraced(function* ({ caller, params }) {
        const rule = yield* found(caller, params.ruleId)
        const page = yield* rules.page(rule, params.slug.replace(HTML, ""))
        if (!HTML.test(params.slug)) return shownPage(rule, page)
        return yield* htmlReply(
          rule,
          page,
          yield* rules.labels(rule, linkedSlugs(page)),
          yield* Clock.currentTimeMillis
        )
      })
    ),
    implement(
      contract.exportSeoSitemap,
      Effect.fnUntraced(function* ({ caller, headers, params, query }) {
        const rule = yield* found(caller, params.ruleId)
        const { part } = yield* query
        return yield* sitemap(rule, part, headers["if-none-match"])
      })
    )
  ]
})
