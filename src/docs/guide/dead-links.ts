/** Finds broken links in the guide: links to a missing page, heading, picture or file of the repository. */
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { repository, targetOf } from "./places.ts"
import type { ReadPage } from "./read-page.ts"
import type { GuideSite } from "./site.ts"

/** Addresses of this program outside the guide to which a page may link. */
const SERVED: ReadonlySet<string> = new Set(["/", "/docs", "/v1/openapi.json", "/api/v1/openapi.json"])
const isInRepository = (path: string): boolean =>
  !path.startsWith("..") &&
  resolve(repository, path).startsWith(resolve(repository)) &&
  existsSync(join(repository, path))

/** Each as `file: link: reason`. */
export const deadLinks = async (site: Pick<GuideSite, "fileOf" | "ids" | "places" | "read">) => {
  const places = await site.places()
  const pages = new Map<string, { readonly file: string; readonly page: ReadPage }>()
  for (const id of await site.ids()) {
    const file = await site.fileOf(id)
    const page = await site.read(id)
    if (file !== undefined && page !== undefined) pages.set(id, { file, page })
  }
  const reasonOf = (from: string, link: string): string | undefined => {
    const target = targetOf(places, from, link)
    if (target.kind === "elsewhere" || target.kind === "picture") return undefined
    if (target.kind === "site") return SERVED.has(target.address) ? undefined : "the program serves no such page"
    if (target.kind === "file") return isInRepository(target.path) ? undefined : `there is no ${target.path}`
    const there = pages.get(target.id)
    if (there === undefined) return `the guide has no page ${target.id}`
    return target.anchor === "" || there.page.headings.some(({ id }) => id === target.anchor)
      ? undefined
      : `${there.file} has no heading #${target.anchor}`
  }
  return [...pages.values()].flatMap(({ file, page }) =>
    page.links.flatMap((link) => {
      const reason = reasonOf(file, link)
      return reason === undefined ? [] : [`${file}: ${link}: ${reason}`]
    })
  )
}
