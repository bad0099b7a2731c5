/** Routes for the guide's pages, their pictures and their search. */
import type { IncomingHttpHeaders } from "node:http"
import { Effect } from "effect"
import { implement, type Implemented } from "../../api/implement.ts"
import { NotFound } from "../../http/errors.ts"
import * as contract from "../contract.ts"
import { fileReply } from "../../http/page-file.ts"
import type { ApiDocument } from "./api-pages.ts"

/** A picture opened directly must not run or request anything either. */
const pictureHeaders = { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox" }

export const guideRoutes = (documents: () => ReadonlyArray<ApiDocument>): ReadonlyArray<Implemented> => {
  // The Markdown parser and code highlighter are loaded with the first page, so that a start does not wait for them.
  const load = async () => {
    const [{ GuideSite }, { SiteSearch }] = await Promise.all([import("./site.ts"), import("./site-search.ts")])
    const site = new GuideSite(documents)
    return { site, search: new SiteSearch(site) }
  }
  let loaded: ReturnType<typeof load> | undefined
  const opened = Effect.promise(() => (loaded ??= load()))
  const shown = Effect.fnUntraced(function* (id: string, headers: IncomingHttpHeaders) {
    const { site } = yield* opened
    const page = yield* Effect.promise(() => site.page(id))
    if (page !== undefined) return fileReply(page, headers)
    const picture = yield* Effect.promise(() => site.picture(id))
    if (picture !== undefined) return fileReply(picture, headers, pictureHeaders)
    return yield* new NotFound({ message: "The guide has no such page." })
  })
  return [
    // The first page has an empty id, which a path parameter cannot match.
    implement(contract.getGuide, ({ headers }) => shown("", headers)),
    implement(contract.getGuidePage, ({ headers, params }) => shown(params.page, headers)),
    implement(contract.getGuideSubpage, ({ headers, params }) => shown(`${params.folder}/${params.page}`, headers)),
    implement(contract.searchGuide, ({ query }) =>
      Effect.flatMap(Effect.all([opened, query]), ([{ search }, { q }]) => Effect.promise(() => search.search(q)))
    )
  ]
}
