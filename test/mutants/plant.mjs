/**
 * How a fault of the list is planted, and what makes the list itself wrong. Pure; `scripts/mutants.mjs` runs it,
 * `faults.test.ts` holds the list against the sources.
 */

/** How often a text occurs in another one. */
const occurrences = (text, part) => text.split(part).length - 1

/** The text with the fault in it. */
export const planted = (text, { from, to }) => text.replace(from, () => to)

/**
 * One sentence for every entry that could not be planted; `read` is the text of a file, and throws where there is none.
 */
export const misfits = (faults, read) =>
  faults.flatMap(({ file, from, name, tests, to }, i) => {
    const wrong = []
    const textOf = (path) => {
      try {
        return read(path)
      } catch {
        wrong.push(`${name}: there is no file ${path}`)
      }
    }
    if (faults.findIndex((other) => other.name === name) !== i) wrong.push(`${name}: two faults have this name`)
    const text = textOf(file)
    if (text !== undefined && occurrences(text, from) !== 1)
      wrong.push(
        `${name}: what it replaces occurs ${occurrences(text, from)} times in ${file} and must once: ${from.split("\n")[0]}`
      )
    if (from === to) wrong.push(`${name}: it changes nothing`)
    if (tests.length === 0) wrong.push(`${name}: it names no test`)
    for (const test of tests) textOf(test)
    return wrong
  })
