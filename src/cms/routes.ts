/** Handlers of CMS installations and of their modules. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { byId, pageOf } from "../http/page.ts"
import { Reply } from "../http/reply.ts"
import type { Caller } from "../identity/caller.ts"
import * as contract from "./contract.ts"
import { CmsInstallations } from "./installations.ts"
import { CmsRuntime } from "./runtime.ts"

/** Every key of this scope has an installation. */
const moduleOf = ({ key, organizationId }: Caller) => ({ organizationId, installationId: key.installation_id! })

export const routes = Effect.gen(function* () {
  const installations = yield* CmsInstallations
  const runtime = yield* CmsRuntime
  return [
    implement(
      contract.listCmsInstallations,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        return pageOf(yield* installations.list(caller.organizationId, { cursor, limit: limit + 1 }), limit, byId)
      })
    ),
    implement(
      contract.createCmsInstallation,
      Effect.fnUntraced(function* ({ caller, payload }) {
        return yield* installations.create(caller.organizationId, yield* payload)
      })
    ),
    implement(contract.getCmsInstallation, ({ caller, params }) =>
      installations.get(caller.organizationId, params.installationId)
    ),
    implement(
      contract.publishCmsConfig,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        yield* installations.get(caller.organizationId, params.installationId)
        const { config, expected_revision } = yield* payload
        return yield* installations.publish(caller.organizationId, params.installationId, expected_revision, config)
      })
    ),
    implement(contract.revokeCmsInstallation, ({ caller, params }) =>
      installations.revoke(caller.organizationId, params.installationId)
    ),
    implement(
      contract.getCmsRuntimeConfig,
      Effect.fnUntraced(function* ({ caller, headers }) {
        const { answer, isServed } = yield* runtime.config(moduleOf(caller))
        const etag = `"${answer.desired_revision}"`
        return isServed && headers["if-none-match"] === etag
          ? new Reply(304, "", "application/json", { etag })
          : new Reply(200, JSON.stringify(answer), "application/json", { etag, "cache-control": "no-store" })
      })
    ),
    implement(
      contract.reportCmsRuntime,
      Effect.fnUntraced(function* ({ caller, payload }) {
        return yield* runtime.report(moduleOf(caller), yield* payload)
      })
    ),
    implement(
      contract.pushCmsEvents,
      Effect.fnUntraced(function* ({ caller, payload }) {
        return yield* runtime.push(moduleOf(caller), yield* payload)
      })
    )
  ]
})
