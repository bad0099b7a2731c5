/** The command line: what each command takes. What it does lives in its own file. */
import { Config, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { fileURLToPath } from "node:url"
import { portDefault } from "../config.ts"
import { start } from "./start.ts"

const dataDirDefault = fileURLToPath(new URL("../../.dowser", import.meta.url))

const dataDir = Flag.String("data-dir").pipe(Flag.withDescription("Folder that holds everything"), Flag.withFallbackConfig(Config.String("DOWSER_DATA_DIR")), Flag.withDefault(dataDirDefault))
const json = Flag.Boolean("json").pipe(Flag.withDescription("One JSON line on standard output"), Flag.withFallbackConfig(Config.Boolean("DOWSER_JSON")), Flag.withDefault(false))

const startCommand = Command.make("start", {
  dataDir,
  json,
  host: Flag.String("host").pipe(Flag.withDescription("Address to listen on"), Flag.withFallbackConfig(Config.String("DOWSER_HOST")), Flag.withDefault("127.0.0.1")),
  port: Flag.Int("port").pipe(Flag.withDescription("Port to listen on"), Flag.withFallbackConfig(Config.Int("DOWSER_PORT")), Flag.withDefault(portDefault)),
  demo: Flag.Boolean("demo").pipe(Flag.withDescription("Load the demo shop on the first start (--no-demo: one empty organization)"), Flag.withFallbackConfig(Config.Boolean("DOWSER_DEMO")), Flag.withDefault(true)),
  demoProducts: Flag.Int("demo-products").pipe(Flag.withDescription("Products of the demo shop"), Flag.withFallbackConfig(Config.Int("DOWSER_DEMO_PRODUCTS")), Flag.withDefault(12_000))
}, (config) => Effect.scoped(start(config))).pipe(Command.withDescription("Start Dowser: API, engine, streams and database in one program"))

export const command = Command.make("dowser").pipe(
  Command.withDescription("Hosted search that anyone can run: many tenants, one command"),
  Command.withSubcommands([startCommand])
)
