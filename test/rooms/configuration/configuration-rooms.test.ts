/**
 * The rooms that keep configuration in memory, in two processes over one Postgres and one engine: once a write of one
 * process is answered, the other sees it.
 */
import { assert, it } from "@effect/vitest"
import { createHash, createHmac } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { PgClient } from "@effect/sql-pg"
import { createCollection, search, upsertPreset, deletePreset } from "../../../engine-sdk/src/operations/mod.ts"
import { openEngine } from "../../../engine-sdk/src/memory/open-engine.ts"
import { Access, NEVER_EXPIRES } from "../../../src/access/access.ts"
import { Organizations } from "../../../src/organizations/organizations.ts"
import { lookupHash } from "../../../src/access/tokens/lookup-hash.ts"
import { OperatorAuth } from "../../../src/identity/operator.ts"
import { Seal } from "../../../src/access/seal.ts"
import { PopularDocuments } from "../../../src/analytics/popular-documents.ts"
import { layerDictionaries } from "../../../src/catalog/dictionaries.ts"
import { CollectionDrops } from "../../../src/engine-plane/collection-drops.ts"
import { makeContexts } from "../../../src/engine-plane/engine-plane.ts"
import { CatalogResources } from "../../../src/engine-plane/resources.ts"
import { layerPostgres } from "../../../src/configuration/configuration-postgres.ts"
import { Console } from "../../../src/console/console.ts"
import { layer as layerMigrations } from "../../../src/migrations/index.ts"
import { Outbox } from "../../../log/outbox.ts"
import { Engine } from "../../../src/ports/engine/engine.ts"
import { layerLeased } from "../../../src/ports/counter/leased-sql.ts"
import { Entitlements } from "../../../src/metering/entitlements.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { FallbackModels } from "../../../src/recommendation-models/fallback-models.ts"
import { RecommendModels } from "../../../src/recommendation-models/live/recommend-models.ts"
import { RecommendationModels } from "../../../src/recommendation-models/models.ts"
import { SearchRules } from "../../../src/rules/search-rules.ts"
import { acquireTestPostgres, temporaryFolder } from "../../support/postgres.ts"

const presented = (key: string) => ({
  key,
  scope: "search" as const,
  address: "127.0.0.1",
  origin: undefined,
  collection: undefined,
  sessionId: undefined,
  isRateFree: false,
  isGateway: false
})
const newKey = (organization_id: string, value?: string) => ({
  organization_id,
  scope: "search" as const,
  description: "k",
  actions: ["documents:search"],
  collections: ["*"],
  ...(value === undefined ? {} : { value }),
  isGateway: false,
  cidrs: [],
  origins: [],
  filter_by: {},
  rate_limit_per_minute: 0,
  expires_at: NEVER_EXPIRES
})
const statusOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag as string, onSuccess: () => "ok" })

it.live("keys, organizations, resources, dictionaries and rules of one process are visible in the other", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* acquireTestPostgres
      const folder = yield* temporaryFolder("engine")
      const engine = yield* Effect.acquireRelease(
        Effect.promise(() => openEngine({ path: folder })),
        (opened) => Effect.promise(() => opened.close())
      )
      const client = (maxConnections: number) =>
        Layer.fresh(
          PgClient.layer({
            host: server.host,
            port: server.port,
            username: server.username,
            password: Redacted.make(server.password),
            database: server.database,
            maxConnections
          })
        )
      const told: Array<string> = []
      /** One process; the dictionaries sent to its engine are recorded. */
      const member = (name: string) =>
        Effect.gen(function* () {
          const listening = new Proxy(engine, {
            get: (target, property) =>
              property === "setDictionary"
                ? (organizationId: string, id: string, words: ReadonlyMap<string, string> | undefined) => {
                    told.push(`${name} ${id} ${words?.size ?? "none"}`)
                    return target.setDictionary(organizationId, id, words)
                  }
                : typeof Reflect.get(target, property) === "function"
                  ? (Reflect.get(target, property) as () => unknown).bind(target)
                  : Reflect.get(target, property)
          })
          const layer = Layer.mergeAll(SearchRules.layer, layerDictionaries).pipe(
            Layer.provideMerge(FallbackModels.layer),
            Layer.provideMerge(
              Layer.mergeAll(PopularDocuments.layer, RecommendationModels.layer, RecommendModels.layerNone)
            ),
            Layer.provideMerge(
              Layer.mergeAll(
                CatalogResources.layer,
                CollectionDrops.layer,
                Layer.provideMerge(Access.layer, Organizations.layer),
                Console.layer
              )
            ),
            Layer.provideMerge(Entitlements.layer),
            Layer.provideMerge(Layer.mergeAll(Outbox.layer, layerPostgres(client(3)), layerLeased({ isAlone: false }))),
            Layer.provideMerge(
              Layer.mergeAll(
                Identifiers.layer,
                OperatorAuth.layer("token"),
                Seal.layer(new Uint8Array(32).fill(7)),
                Layer.succeed(Engine, listening)
              )
            ),
            Layer.provideMerge(Layer.provideMerge(layerMigrations, client(4)))
          )
          const context = yield* Layer.build(Layer.fresh(layer))
          return {
            access: Context.get(context, Access),
            organizations: Context.get(context, Organizations),
            people: Context.get(context, Console),
            rules: Context.get(context, SearchRules),
            resources: Context.get(context, CatalogResources),
            contextOf: yield* Effect.provide(makeContexts, context)
          }
        })
      const [a, b] = [yield* member("a"), yield* member("b")]

      // Keys and organizations.
      const organization = yield* a.organizations.create("One", "standard")
      const other = yield* b.organizations.create("Two", "standard")
      assert.deepStrictEqual(
        (yield* b.organizations.list).map(({ id }) => id),
        (yield* a.organizations.list).map(({ id }) => id)
      )
      const { key, value } = yield* b.access.createKey(newKey(organization.id))
      assert.strictEqual(yield* statusOf(a.access.check(presented(value))), "ok")
      // A key created by the other process can sign here.
      const parameters = JSON.stringify({ filter_by: "a:1" })
      const secured = Buffer.from(
        `${createHmac("sha256", value).update(parameters).digest("base64")}${value.slice(0, 4)}${parameters}`
      ).toString("base64")
      const asSecured = yield* statusOf(a.access.check(presented(secured)))
      assert.deepStrictEqual([asSecured, yield* statusOf(b.access.check(presented(secured)))], ["ok", "ok"])
      // The same value at the same time in both processes: only one of them succeeds.
      const twice = yield* Effect.forEach(
        [a, b],
        ({ access }) => statusOf(access.createKey(newKey(other.id, "a-value-of-the-callers-own-choice"))),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(twice.sort(), ["KeyValueTaken", "ok"])
      // Two concurrent changes of different fields: neither is lost.
      yield* Effect.all(
        [
          a.organizations.set(organization.id, { plan: "unlimited" }),
          b.organizations.set(organization.id, { status: "paused", paused_reason: "payment" })
        ],
        { concurrency: 2 }
      )
      for (const { access, organizations } of [a, b]) {
        assert.deepStrictEqual(
          (yield* organizations.list)
            .filter(({ id }) => id === organization.id)
            .map(({ plan, status }) => [plan, status]),
          [["unlimited", "paused"]]
        )
        assert.strictEqual(yield* statusOf(access.check(presented(value))), "OrganizationPaused")
      }
      yield* b.organizations.set(organization.id, { status: "active", paused_reason: undefined })
      const revoked = yield* Effect.forEach(
        [a, b],
        ({ access }) => statusOf(access.revokeKey(organization.id, key.id)),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(revoked.sort(), ["KeyNotFound", "ok"])
      for (const { access } of [a, b]) {
        assert.strictEqual(yield* statusOf(access.check(presented(value))), "Unauthorized")
        assert.strictEqual(yield* statusOf(access.check(presented(secured))), "Unauthorized")
        assert.deepStrictEqual(access.listKeys(organization.id), [])
      }
      // Neither the value nor anything that could sign for it is stored.
      const digest = createHash("sha256").update(value).digest()
      assert.strictEqual(lookupHash(digest).toString("hex"), key.lookup_hash)
      assert.notStrictEqual(digest.toString("hex"), key.lookup_hash)

      // Derived keys: both processes sign with the same key, whichever created it, and both see its revocation.
      const minter = yield* a.access.createKey({ ...newKey(organization.id), scope: "full" })
      const parent = yield* b.access.createKey(newKey(organization.id))
      const browserKey = {
        organization_id: organization.id,
        minted_by: minter.key.id,
        collections: ["*"],
        filter_by: {},
        origins: [],
        expires_at: 9_999_999_999
      }
      const token = {
        organization_id: organization.id,
        key_id: parent.key.id,
        index: "shoes",
        scopedFilter: "a:=1",
        expires_at: 9_999_999_999
      }
      const minted = yield* Effect.forEach(
        [a, b],
        ({ access }) => Effect.all([access.mintBrowserKey(browserKey), access.mintScopedToken(token)]),
        { concurrency: 2 }
      )
      const statuses = Effect.forEach([a, b], ({ access }) =>
        Effect.forEach(minted, ([browser, scoped]) =>
          Effect.all([
            statusOf(access.check(presented(browser))),
            statusOf(access.check({ ...presented(scoped), isGateway: true })),
            statusOf(access.check({ ...presented(scoped), isGateway: true, collection: "boots" }))
          ])
        )
      )
      const all = (...each: ReadonlyArray<string>) =>
        Array.from({ length: 2 }, () => Array.from({ length: 2 }, () => [...each]))
      assert.deepStrictEqual(yield* statuses, all("ok", "ok", "CollectionNotAllowed"))
      yield* b.access.revokeKey(organization.id, minter.key.id)
      assert.deepStrictEqual(yield* statuses, all("Unauthorized", "ok", "CollectionNotAllowed"))
      yield* a.access.revokeKey(organization.id, parent.key.id)
      assert.deepStrictEqual(yield* statuses, all("Unauthorized", "Unauthorized", "Unauthorized"))
      // Expired keys with `autodelete` are deleted once, whichever process looks first.
      yield* a.access.createKey({ ...newKey(organization.id), autodelete: true, expires_at: 1 })
      assert.deepStrictEqual(
        (yield* Effect.forEach([a, b], ({ access }) => access.deleteExpired, { concurrency: 2 })).sort(),
        [0, 1]
      )
      for (const { access } of [a, b]) assert.deepStrictEqual(access.listKeys(organization.id), [])
      // Members and sessions: signing in or out in one process applies to the other.
      const operator = { type: "operator" } as const
      const { member: owner } = yield* a.people.addMember(operator, organization.id, {
        email: "o@x.example",
        name: "",
        role: "owner",
        password: "a long password"
      })
      const { member: second } = yield* b.people.addMember(operator, organization.id, {
        email: "s@x.example",
        name: "",
        role: "owner",
        password: "a long password"
      })
      const signIn = (people: typeof a.people, email: string, password = "a long password") =>
        people.signIn({ email, password, organizationId: undefined, address: "127.0.0.1" })
      const asks = (people: typeof a.people, token: string, least: "member" | "owner" = "member") =>
        statusOf(
          people.check({
            bearer: undefined,
            headers: { cookie: `dowser_session=${token}` },
            isRead: true,
            organizationId: organization.id,
            least
          })
        )
      const opened = yield* signIn(a.people, owner.email)
      assert.deepStrictEqual(
        [yield* asks(a.people, opened.token, "owner"), yield* asks(b.people, opened.token, "owner")],
        ["ok", "ok"]
      )
      // Two owners demote each other at the same time in different processes: one remains an owner.
      const demoted = yield* Effect.forEach(
        [
          [a, second],
          [b, owner]
        ] as const,
        ([{ people }, { id }]) => statusOf(people.changeMember(operator, organization.id, id, { role: "member" })),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(demoted.sort(), ["MemberConflict", "ok"])
      for (const { people } of [a, b])
        assert.strictEqual(people.members(organization.id).filter(({ role }) => role === "owner").length, 1)
      yield* b.people.changeMember(operator, organization.id, owner.id, { role: "owner" })
      yield* a.people.changeMember(operator, organization.id, second.id, { role: "member" })
      assert.strictEqual(yield* asks(b.people, (yield* signIn(a.people, second.email)).token, "owner"), "RoleDenied")
      yield* b.people.signOut(opened.session)
      assert.deepStrictEqual(
        [yield* asks(a.people, opened.token), yield* asks(b.people, opened.token)],
        ["Unauthorized", "Unauthorized"]
      )
      const again = yield* signIn(b.people, second.email)
      yield* b.people.changeMember(operator, organization.id, second.id, { password: "another long password" })
      assert.strictEqual(yield* asks(a.people, again.token), "Unauthorized")
      const last = yield* signIn(a.people, second.email, "another long password")
      yield* a.people.removeMember(operator, organization.id, second.id)
      assert.deepStrictEqual(
        [yield* asks(a.people, last.token), yield* asks(b.people, last.token)],
        ["Unauthorized", "Unauthorized"]
      )

      // Resources, and the dictionaries sent to the engine.
      const own = organization.id
      yield* Effect.promise(() => upsertPreset(a.contextOf(own), "front", JSON.stringify({ value: { per_page: 3 } })))
      assert.strictEqual(
        JSON.stringify(b.resources.get(own, "preset", "front")),
        JSON.stringify(a.resources.get(own, "preset", "front"))
      )
      assert.isUndefined(b.resources.get(other.id, "preset", "front"))
      yield* Effect.promise(() => deletePreset(b.contextOf(own), "front"))
      assert.isUndefined(a.resources.get(own, "preset", "front"))
      yield* Effect.promise(() =>
        a.resources.put(own, "stemming_dictionary", "plurals", { id: "plurals", words: new Map([["mice", "mouse"]]) })
      )
      assert.deepStrictEqual(told.splice(0).sort(), ["a plurals 1", "b plurals 1"])
      yield* Effect.promise(() => b.resources.remove(own, "stemming_dictionary", "plurals"))
      assert.deepStrictEqual(told.splice(0).sort(), ["a plurals none", "b plurals none"])

      // Rules, and their effect on a cached answer.
      assert.isTrue(
        (yield* Effect.promise(async () =>
          createCollection(
            a.contextOf(own),
            JSON.stringify({ name: "shoes", fields: [{ name: "title", type: "string" }] })
          )
        )).ok
      )
      const collection = engine.describeCollection(own, "shoes")!
      const visitor = { device: undefined, country: undefined, language: undefined, segment: undefined } as never
      const before = JSON.stringify(b.rules.answerKey(own, visitor, 0))
      yield* a.rules.replace(
        own,
        collection,
        yield* a.rules.checked(own, collection, { pins: [{ query: "boots", doc_id: "1", position: 1 }] })
      )
      assert.deepStrictEqual(
        b.rules.get(own, collection)?.ruleSet.pins.map(({ doc_id }) => doc_id),
        ["1"]
      )
      const compiledBy = (rules: (typeof b)["rules"]) => {
        const compiled = rules.compiled(own, collection)
        assert.isTrue(compiled.ok)
        return compiled.ok ? compiled.value : undefined
      }
      assert.isDefined(compiledBy(b.rules))
      assert.notStrictEqual(JSON.stringify(b.rules.answerKey(own, visitor, 0)), before)
      assert.isUndefined(b.rules.get(other.id, collection))
      // At the same time in both: the later write wins in both.
      yield* Effect.forEach(
        [a, b],
        ({ rules }, i) =>
          Effect.flatMap(
            rules.checked(own, collection, { pins: [{ query: "boots", doc_id: `by ${i}`, position: 1 }] }),
            (set) => rules.replace(own, collection, set)
          ),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(a.rules.get(own, collection), b.rules.get(own, collection))
      yield* b.rules.remove(own, "shoes")
      for (const { rules } of [a, b]) {
        assert.isUndefined(rules.get(own, collection))
        assert.isUndefined(compiledBy(rules))
      }
      assert.isTrue(
        (yield* Effect.promise(async () => search(b.contextOf(own), "shoes", { q: "boots", query_by: "title" }))).ok
      )
    })
  )
)
