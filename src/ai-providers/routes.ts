/** Handlers of AI providers. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { inputInvalid } from "../http/errors.ts"
import { AiProviders } from "./ai-providers.ts"
import * as contract from "./contract.ts"
import { PORTS } from "./schema.ts"

const portOf = (text: string) => {
  const port = PORTS.find((each) => each === text)
  return port === undefined ? Effect.fail(inputInvalid("port", `One of ${PORTS.join(", ")}`)) : Effect.succeed(port)
}

export const routes = Effect.gen(function* () {
  const providers = yield* AiProviders
  return [
    implement(contract.listAiProviders, ({ caller }) => Effect.sync(() => providers.inUse(caller.organizationId))),
    implement(
      contract.putAiProvider,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const port = yield* portOf(params.port)
        return yield* providers.put(caller.organizationId, port, yield* payload)
      })
    ),
    implement(
      contract.deleteAiProvider,
      Effect.fnUntraced(function* ({ caller, params }) {
        const port = yield* portOf(params.port)
        yield* providers.remove(caller.organizationId, port)
        return { port }
      })
    )
  ]
})
