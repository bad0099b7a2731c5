/** Commands that import, export, back up and restore data. */
import { dataDir, json, target, targetOf, key } from "./flags.ts"
import { Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { backupFolder, restoreFolder } from "../backup.ts"
import { exportFile, importFile } from "../documents.ts"
import { ingestFeed } from "../ingest.ts"

export const importCommand = Command.make(
  "import",
  {
    ...target,
    json,
    key,
    collection: Argument.String("collection"),
    file: Argument.String("file"),
    action: Flag.Literals("action", ["create", "upsert", "update", "emplace"]).pipe(Flag.withDefault("upsert"))
  },
  (flags) =>
    importFile({
      ...targetOf(flags),
      key: flags.key,
      collection: flags.collection,
      file: flags.file,
      action: flags.action,
      json: flags.json
    })
).pipe(Command.withDescription("Import JSON Lines (.jsonl or .jsonl.gz) into a collection"))

export const ingestCommand = Command.make(
  "ingest",
  {
    ...target,
    json,
    key,
    source: Argument.String("source").pipe(Argument.withDescription("A file (also .gz), or an address")),
    collection: Flag.String("collection").pipe(Flag.withAlias("C"), Flag.withDescription("What it goes into")),
    format: Flag.Literals("format", ["yml", "jsonl", "csv", "google_xml"]).pipe(
      Flag.withDescription("Format, where the name does not say"),
      Flag.optional
    ),
    full: Flag.Boolean("full").pipe(
      Flag.withDescription("Delete documents that the feed does not have"),
      Flag.withDefault(false)
    ),
    create: Flag.Boolean("create").pipe(
      Flag.withDescription("Create the collection if it does not exist"),
      Flag.withDefault(false)
    ),
    resume: Flag.String("resume").pipe(Flag.withDescription("Go on with an upload by its id"), Flag.optional)
  },
  (flags) =>
    ingestFeed({
      ...targetOf(flags),
      key: flags.key,
      source: flags.source,
      collection: flags.collection,
      format: Option.getOrUndefined(flags.format),
      isFull: flags.full,
      isCreated: flags.create,
      resume: Option.getOrUndefined(flags.resume),
      json: flags.json
    })
).pipe(Command.withDescription("Import a feed (YML, CSV, JSON Lines, Google XML) from a file or an address"))

export const exportCommand = Command.make(
  "export",
  {
    ...target,
    key,
    collection: Argument.String("collection"),
    file: Argument.String("file"),
    filterBy: Flag.String("filter-by").pipe(Flag.optional)
  },
  (flags) =>
    exportFile({
      ...targetOf(flags),
      key: flags.key,
      collection: flags.collection,
      file: flags.file,
      filterBy: Option.getOrUndefined(flags.filterBy)
    })
).pipe(Command.withDescription("Export a collection as JSON Lines"))

export const backupCommand = Command.make(
  "backup",
  { dataDir, json, destination: Argument.String("folder") },
  backupFolder
).pipe(
  Command.withDescription(
    "Copy the running program that owns --data-dir into a new folder, without stopping it; the folder holds secrets"
  )
)

export const restoreCommand = Command.make(
  "restore",
  { json, source: Argument.String("backup"), dataDir: Argument.String("data-folder") },
  restoreFolder
).pipe(Command.withDescription("Create an empty data folder from a backup, after verifying all of it"))
