/** The first example of the package's README and the output it claims: the blocks marked `js` and `text`. */
import { readFileSync } from "node:fs"

const readme = new URL("../../engine-sdk/README.md", import.meta.url).pathname

export const readmeExample = (): { readonly program: string; readonly output: string } => {
  const [, program, output] =
    /```js\n([\s\S]*?)```[\s\S]*?```text\n([\s\S]*?)```/.exec(readFileSync(readme, "utf8")) ?? []
  if (program === undefined || output === undefined)
    throw new Error("engine-sdk/README.md has no example with its output")
  return { program, output }
}
