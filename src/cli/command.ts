/** All commands of the command line. `commands/` declares their arguments; another file implements each. */
import { Command } from "effect/cli"
import { startCommand, streamsCommand } from "./commands/running.ts"
import { orgCommand, keysCommand } from "./commands/organizations.ts"
import { importCommand, ingestCommand, exportCommand, backupCommand, restoreCommand } from "./commands/documents.ts"
import {
  doctorCommand,
  statusCommand,
  kafkaCommand,
  opensearchCommand,
  promoteCommand,
  modelsCommand
} from "./commands/machine.ts"
import { benchCommand } from "./commands/bench.ts"

export const command = Command.make("dowser").pipe(
  Command.withDescription("Hosted search that anyone can run: many tenants, one command"),
  Command.withSubcommands([
    startCommand,
    streamsCommand,
    orgCommand,
    keysCommand,
    importCommand,
    ingestCommand,
    exportCommand,
    backupCommand,
    restoreCommand,
    statusCommand,
    doctorCommand,
    benchCommand,
    kafkaCommand,
    opensearchCommand,
    promoteCommand,
    modelsCommand
  ])
)
