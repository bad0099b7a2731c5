/** `dowser bench`: every lane, or one bench at any size. */
import { engineBenches } from "./bench-engine.ts"
import { eventBenches } from "./bench-events.ts"
import { catalogueBenches } from "./bench-catalogue.ts"
import { Option } from "effect"
import { Command } from "effect/cli"
import { benchAll } from "../bench.ts"
import { optionalText } from "./bench-flags.ts"

export const benchCommand = Command.make("bench", {}, () => benchAll({ only: undefined, out: undefined })).pipe(
  Command.withDescription("Measure: every lane small, beside the last run (without a name); or one bench at any size"),
  Command.withSubcommands([
    Command.make(
      "all",
      {
        only: optionalText("only", "Only lanes whose name begins so"),
        out: optionalText(
          "out",
          "File of the raw results (bench/results/<time>.json by default, where the next run looks)"
        )
      },
      (flags) => benchAll({ only: Option.getOrUndefined(flags.only), out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Every lane small, one table, beside the last run on this machine")),
    ...engineBenches,
    ...eventBenches,
    ...catalogueBenches
  ])
)
