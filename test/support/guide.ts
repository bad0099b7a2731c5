/** A guide of `docs/` as the requests that it shows. */
import { readFileSync } from "node:fs"

interface GuideStep {
  readonly method: string
  readonly path: string
  /** Name of the variable that holds the key. */ readonly key: string
  /** Further headers. */ readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** A file that is sent in place of the body. */ readonly file: Buffer | undefined
  /** The content of the answer, as far as the guide shows it. */ readonly answer: unknown
}
/** Every `sh` block with the `json` block that follows it before the next one. */
export const stepsOfGuide = (guide: string): ReadonlyArray<GuideStep> =>
  readFileSync(new URL(`../../docs/${guide}`, import.meta.url), "utf8")
    .split("```sh\n")
    .slice(1)
    .map((part) => {
      const [, method = "GET", path, key, more = "", body, named] =
        /^curl (?:-X (\w+) )?"\$DOWSER([^"]+)" -H "X-SVC-API-KEY: \$(\w+)"((?: -H "[^"]+")*)(?: -d '([\s\S]*?)'| --data-binary @(\S+))?\n```/.exec(
          part
        )!
      const file = named === undefined ? undefined : readFileSync(new URL(`../../${named}`, import.meta.url))
      const answer = /```json\n([\s\S]*?)```/.exec(part)?.[1]
      const headers = Object.fromEntries(
        [...more.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(([, name, value]) => [name, value])
      )
      return {
        method,
        path: path!,
        key: key!,
        headers,
        body,
        file,
        answer: answer === undefined ? undefined : JSON.parse(answer)
      }
    })
