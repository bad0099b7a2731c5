/**
 * `docs/commands.md`: every command with its arguments and flags, from their declarations in `commands/`. It contains
 * each command's own help as a table; `npm run docs` writes the file, and a test checks that it is current.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Option } from "effect"
import { CliOutput, Command, type HelpDoc } from "effect/cli"
import { version } from "../config.ts"
import { command } from "./command.ts"

type Named = Pick<Command.Command.Any, "name" | "subcommands">
/** Each command as its words, parents before their children. */
const pathsOf = (one: Named, before: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => [
  ...(before.length === 0 ? [] : [before]),
  ...one.subcommands.flatMap(({ commands }) => commands.flatMap((each) => pathsOf(each, [...before, each.name])))
]

/** The help is captured, not printed. */
const silent: Console.Console = Object.assign(Object.create(console) as Console.Console, { log: () => {} })
const helpOf = (path: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    let found: HelpDoc.HelpDoc | undefined
    const plain = CliOutput.defaultFormatter({ colors: false })
    const noting = {
      ...plain,
      formatHelpDoc: (doc: HelpDoc.HelpDoc) => {
        found = doc
        return ""
      }
    }
    yield* Command.runWith(command, { version })([...path, "--help"]).pipe(
      Effect.provide(CliOutput.layer(noting)),
      Effect.provideService(Console.Console, silent),
      Effect.provide(NodeServices.layer)
    )
    if (found === undefined) return yield* Effect.die(new Error(`dowser ${path.join(" ")} has no help`))
    return found
  })

const cell = (text: string): string => text.replaceAll("|", "\\|").replace(/\s+/g, " ").trim()
const row = (name: string, type: string, isRequired: boolean, description: Option.Option<string>): string =>
  `| \`${name}\` | ${type}${isRequired ? ", required" : ""} | ${cell(Option.getOrElse(description, () => ""))} |`

const textOf = (path: ReadonlyArray<string>, { args = [], description, flags, usage }: HelpDoc.HelpDoc): string => {
  const rows = [
    ...args.map((one) => row(`${one.name}${one.variadic ? " …" : ""}`, one.type, one.required, one.description)),
    ...flags.map(({ aliases, description: what, name, required, type }) =>
      row([`--${name}`, ...aliases].join(", "), type, required, what)
    )
  ]
  const table = rows.length === 0 ? "" : `\n| Argument or flag | Takes | What |\n|---|---|---|\n${rows.join("\n")}\n`
  return `\n## ${path.join(" ")}\n\n${description}.\n\n\`\`\`text\n${usage}\n\`\`\`\n${table}`
}

export const commandPage = Effect.gen(function* () {
  const paths = pathsOf(command, [])
  const texts: Array<string> = []
  for (const path of paths) texts.push(textOf(path, yield* helpOf(path)))
  return `# Every command\n\nWritten by \`npm run docs\` from the declarations of the commands: change \`src/cli/commands\`, not this page. [Command line](command-line.md) says in which order they are useful.\n${texts.join("")}`
})
