/** Handlers of the demo page: files from memory, its key, its figures. */
import type { IncomingHttpHeaders } from "node:http"
import { Effect } from "effect"
import { Engine } from "../ports/engine/engine.ts"
import { NotFound } from "../http/errors.ts"
import { fileReply, type PageFile } from "../http/page-file.ts"
import { Reply } from "../http/reply.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { Demo } from "./demo.ts"
import { looksOf } from "./looks.ts"
import { DEMO_PROFILE } from "./storefront.ts"
import { loadPageFiles } from "./page-files.ts"
import { makePictures, type ProductPicture } from "./pictures.ts"

const noDemo = new NotFound({ message: "This installation was started without the demo shop." })

const NO_SNIFFING = { "x-content-type-options": "nosniff" }
const pictureReply = ({ etag, png }: ProductPicture, headers: IncomingHttpHeaders): Reply => {
  const common = { etag, "cache-control": "public, max-age=86400", ...NO_SNIFFING }
  return headers["if-none-match"] === etag
    ? new Reply(304, "", "image/png", common)
    : new Reply(200, png, "image/png", common)
}
const redirect = (to: string) => new Reply(302, "", "text/plain", { location: to })

export const routes = Effect.gen(function* () {
  const demo = yield* Demo
  const engine = yield* Engine
  const pictureOf = yield* makePictures
  const files = loadPageFiles()
  const page = files.get("index.html") as PageFile
  const opened = Effect.suspend(() => {
    const shop = demo.shop()
    return shop === undefined ? Effect.fail(noDemo) : Effect.succeed(shop)
  })
  return [
    implement(contract.getPage, ({ headers }) =>
      Effect.sync(() => (demo.shop() === undefined ? redirect("/docs") : fileReply(page, headers, NO_SNIFFING)))
    ),
    implement(contract.getConsole, () => Effect.sync(() => redirect("/"))),
    implement(contract.getConfig, () =>
      Effect.map(opened, ({ collection, models, organizationId, searchKey }) => ({
        collection,
        profile: DEMO_PROFILE,
        search_key: searchKey,
        products: engine.describeCollection(organizationId, collection)?.num_documents ?? 0,
        models
      }))
    ),
    implement(
      contract.getPicture,
      Effect.fnUntraced(function* ({ headers, params }) {
        const { collection, organizationId } = yield* opened
        const picture = yield* pictureOf(organizationId, collection, params.productId)
        if (picture === undefined) return yield* new NotFound({ message: "Not Found" })
        return pictureReply(picture, headers)
      })
    ),
    implement(contract.lookAtPictures, () =>
      Effect.flatMap(opened, (shop) =>
        Effect.map(demo.looks(shop), (looked) => ({ collection: looksOf(shop.collection), ...looked }))
      )
    ),
    implement(contract.getFigures, () => Effect.flatMap(opened, demo.figures)),
    implement(contract.getFile, ({ headers, params }) =>
      Effect.suspend(() => {
        const file = files.get(params.file)
        return file === undefined
          ? Effect.fail(new NotFound({ message: "Not Found" }))
          : Effect.succeed(fileReply(file, headers, NO_SNIFFING))
      })
    )
  ]
})
