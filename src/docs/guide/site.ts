/**
 * The guide as a site: every page is rendered from its file on demand, cached within a limit of bytes, and rendered
 * again after the file changed. Nothing is read before the first request, so that it does not slow down a start.
 */
import { readFile, stat } from "node:fs/promises"
import { BoundedMap } from "@dowser/engine-sdk/host"
import { type PageFile, pageFileOf } from "../../http/page-file.ts"
import { type ApiDocument, type ApiPage, apiPages } from "./api-pages.ts"
import { pageHtml } from "./page-html.ts"
import { FIRST_PAGE, findPlaces, type GuidePlaces, repository, targetOf } from "./places.ts"
import { type ReadPage, readPage, type Section, sectionsOf } from "./read-page.ts"

const PAGES_BYTES_MAX = 4_000_000
const types: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["svg", "image/svg+xml"]
])

/** Folders whose pages are in the sidebar even if the first page does not name them. */
const LISTED_FOLDERS = [
  ["contract", "Contract"],
  ["examples", "Examples"]
] as const
const titleOf = (text: string): string => /^# (.+)$/m.exec(text)?.[1] ?? ""

interface Ground {
  readonly places: GuidePlaces
  /** Pages without a file, by id. */ readonly made: ReadonlyMap<string, ApiPage>
}
interface KeptPage {
  /** Identifies the versions of the files from which it was rendered. */ readonly stamp: string
  readonly file: PageFile
}
export class GuideSite {
  readonly #documents: () => ReadonlyArray<ApiDocument>
  #ground: Promise<Ground> | undefined
  readonly #pages = new BoundedMap<string, KeptPage>({
    bytes_max: PAGES_BYTES_MAX,
    bytesOf: (_id, { file }) => file.plain.length + file.gzip.length
  })

  /** `documents` returns those of the API, and is called once. */
  constructor(documents: () => ReadonlyArray<ApiDocument>) {
    this.#documents = documents
  }
  #grounded(): Promise<Ground> {
    this.#ground ??= findPlaces().then(
      (places) => ({ places, made: new Map(apiPages(this.#documents()).map((page) => [page.id, page])) }),
      (error: unknown) => {
        // Cleared after a failure, so that the next request tries again.
        this.#ground = undefined
        throw error
      }
    )
    return this.#ground
  }

  /** Ids of all pages: those in the sidebar in its order, then any that it does not name. */
  async ids(): Promise<ReadonlyArray<string>> {
    const { made, places } = await this.#grounded()
    const shown = (await this.sections()).flatMap(({ pages }) => pages.map(({ id }) => id))
    return [...new Set(["", ...shown, ...places.files.keys(), ...made.keys()])]
  }
  /** As listed on the first page, followed by the pages of folders that list themselves, and the generated pages. */
  async sections(): Promise<ReadonlyArray<Section>> {
    const { made, places } = await this.#grounded()
    const text = await readFile(`${repository}${FIRST_PAGE}`, "utf8")
    const sections = sectionsOf(text, (href) => targetOf(places, FIRST_PAGE, href))
    const listed = new Set(sections.flatMap(({ pages }) => pages.map(({ id }) => id)))
    const folders: Array<Section> = []
    for (const [folder, title] of LISTED_FOLDERS) {
      const ids = [...places.files.keys()].filter(
        (id) => (id === folder || id.startsWith(`${folder}/`)) && !listed.has(id)
      )
      const pages = await Promise.all(
        ids.map(async (id) => ({ id, label: titleOf(await readFile(`${repository}${places.files.get(id)!}`, "utf8")) }))
      )
      if (pages.length > 0) folders.push({ title, pages })
    }
    return [...sections, ...folders, { title: "API", pages: [...made.values()] }]
  }
  /** The file of a page; for a page without one, the file from which its links are resolved. */
  async fileOf(id: string): Promise<string | undefined> {
    const { made, places } = await this.#grounded()
    return places.files.get(id) ?? (made.has(id) ? `${id}.md` : undefined)
  }
  async places(): Promise<GuidePlaces> {
    return (await this.#grounded()).places
  }
  async read(id: string): Promise<ReadPage | undefined> {
    const { made, places } = await this.#grounded()
    const file = places.files.get(id)
    const page = made.get(id)
    if (file === undefined && page === undefined) return undefined
    const from = file ?? `${id}.md`
    const text = page?.text ?? (await readFile(`${repository}${from}`, "utf8"))
    return readPage(text, (href) => targetOf(places, from, href))
  }
  async #stampOf(id: string): Promise<string> {
    const { places } = await this.#grounded()
    const own = places.files.get(id)
    const files = own === undefined ? [FIRST_PAGE] : [FIRST_PAGE, own]
    const times = await Promise.all(files.map((file) => stat(`${repository}${file}`)))
    return times.map(({ mtimeMs }) => mtimeMs).join()
  }
  /** The page as an HTML document; undefined if it does not exist. */
  async page(id: string): Promise<PageFile | undefined> {
    if ((await this.fileOf(id)) === undefined) return undefined
    const stamp = await this.#stampOf(id)
    const kept = this.#pages.get(id)
    if (kept?.stamp === stamp) return kept.file
    const read = await this.read(id)
    if (read === undefined) return undefined
    const html = pageHtml(id, read, await this.sections())
    const file = pageFileOf(Buffer.from(html), "text/html; charset=utf-8")
    this.#pages.set(id, { stamp, file })
    return file
  }
  /** A picture next to the pages. */
  async picture(name: string): Promise<PageFile | undefined> {
    const { pictures } = await this.places()
    const type = types.get(name.split(".").at(-1) ?? "")
    if (!pictures.has(name) || type === undefined) return undefined
    const stamp = String((await stat(`${repository}docs/${name}`)).mtimeMs)
    const kept = this.#pages.get(name)
    if (kept?.stamp === stamp) return kept.file
    const file = pageFileOf(await readFile(`${repository}docs/${name}`), type)
    this.#pages.set(name, { stamp, file })
    return file
  }
}
