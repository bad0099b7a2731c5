// Faults that the tests must catch, each as one replacement in one file, with the tests that should. Planted one at a
// time by `npm run mutants`. A fault that somebody finds uncaught comes here together with the test that catches it.

/** @type {import("./faults.mjs").Fault[]} */
export const faults = [
  {
    name: "voice-threshold",
    why: "who speaks softly over noise is heard late",
    file: "src/ports/transcriber/live/voice-activity.ts",
    from: "const LOUDER = 3",
    to: "const LOUDER = 9",
    tests: ["test/rooms/voice/voice-activity.test.ts"]
  },
  {
    name: "voice-floor",
    why: "what is loud for a moment becomes the floor of what is said next",
    file: "src/ports/transcriber/live/voice-activity.ts",
    from: "return Math.min(this.#part, ...this.#parts)",
    to: "return this.#part",
    tests: ["test/rooms/voice/voice-activity.test.ts"]
  },
  {
    name: "voice-agreement",
    why: "words that were shown are taken back",
    file: "src/ports/transcriber/live/agreement.ts",
    from: "if (same > this.#agreed.length) this.#agreed = [...this.#agreed, ...words.slice(this.#agreed.length, same)]",
    to: "this.#agreed = words.slice(0, same)",
    tests: ["test/rooms/voice/agreement.test.ts"]
  },
  {
    name: "voice-stale",
    why: "hits of words that are others by now are shown",
    file: "src/voice/stream/interim.ts",
    from: "ended.value.tokens === tokens ? ended.value : undefined",
    to: "ended.value",
    tests: ["test/rooms/voice/interim.test.ts"]
  },
  {
    name: "voice-one-at-a-time",
    why: "a stream searches for every word at once",
    file: "src/voice/stream/interim.ts",
    from: 'this.#running !== undefined || tokens === ""',
    to: 'tokens === ""',
    tests: ["test/rooms/voice/interim.test.ts"]
  },
  {
    name: "voice-key-again",
    why: "a stream goes on behind its key",
    file: "src/voice/stream/voice-stream.ts",
    from: "PASSING.has(statusOf(error)) ?",
    to: "error !== undefined ?",
    tests: ["test/contract/voice-stream.test.ts"]
  },
  {
    name: "voice-forgiven",
    why: "sound that nobody could hear is paid for",
    file: "src/metering/ai-spending.ts",
    from: "isForgiven ? wallet.release(each)",
    to: "held.length < 0 ? wallet.release(each)",
    tests: ["test/contract/voice-stream.test.ts"]
  },
  {
    name: "voice-open-streams",
    why: "a stream that ended is counted for ever",
    file: "src/voice/stream/voice-streams.ts",
    from: "() => Effect.sync(() => open.give(places))",
    to: "() => Effect.void",
    tests: ["test/contract/voice-stream.test.ts"]
  },
  {
    name: "seo-linked-data",
    why: "a title ends the element that holds linked data",
    file: "src/seo/page-html.ts",
    from: "/[<>&\\u2028\\u2029]/g",
    to: "/[&\\u2028\\u2029]/g",
    tests: ["test/rooms/seo/documents.test.ts"]
  },
  {
    name: "seo-quotes",
    why: "a value ends the attribute that it stands in",
    file: "src/seo/sitemap.ts",
    from: "/[&<>\"']/g",
    to: "/[&<>]/g",
    tests: ["test/rooms/seo/documents.test.ts"]
  },
  {
    name: "seo-sitemap-bytes",
    why: "a sitemap grows beyond the bytes that crawlers read",
    file: "src/seo/sitemap.ts",
    from: "lines.length > 0 && bytes + size + 200 > bytesMax",
    to: "false",
    tests: ["test/rooms/seo/documents.test.ts"]
  },
  {
    name: "seo-part-of-another",
    why: "a page is the copy of one of which it is a part",
    file: "src/seo/alike.ts",
    from: "Math.min(a.count, b.count) >= ALIKE * Math.max(a.count, b.count)",
    to: "a.count <= b.count || true",
    tests: ["test/rooms/seo/decisions.test.ts"]
  },
  {
    name: "seo-slug-kept",
    why: "a value gets another address when it is generated again",
    file: "src/seo/decide-pages.ts",
    from: "own ?? byKey.get(key) ?? book.give(value)",
    to: "book.give(value)",
    tests: ["test/rooms/seo/decisions.test.ts"]
  },
  {
    name: "seo-grace",
    why: "a page without documents is gone a day late",
    file: "src/seo/decide-pages.ts",
    from: "now - empty_since >= EMPTY_DAYS * DAY_MS",
    to: "now - empty_since >= (EMPTY_DAYS + 1) * DAY_MS",
    tests: ["test/rooms/seo/decisions.test.ts"]
  },
  {
    name: "seo-empty-sentence",
    why: "a sentence stays though its placeholder has no value",
    file: "src/seo/placeholders.ts",
    from: '(values.get(name as Placeholder) ?? "") === ""',
    to: "values.get(name as Placeholder) === null",
    tests: ["test/rooms/seo/decisions.test.ts"]
  },
  {
    name: "seo-lastmod",
    why: "a page that is generated again says that it changed",
    file: "src/seo/pages-repository.ts",
    from: "CASE WHEN seo_pages.hash = EXCLUDED.hash",
    to: "CASE WHEN seo_pages.hash IS NULL",
    tests: ["test/contract/seo.test.ts"]
  },
  {
    name: "seo-hidden",
    why: "what a collection's rules keep out of sight is on a page",
    file: "src/search/browsed.ts",
    from: "rules.value === undefined ? undefined : excluding(rules.value)",
    to: "undefined",
    tests: ["test/contract/seo.test.ts"]
  },
  {
    name: "ingest-turns",
    why: "an organization waits until all older jobs of others are done",
    file: "src/ingest/running/claims.ts",
    from: "ORDER BY t.turn NULLS FIRST, j.created_at, j.id",
    to: "ORDER BY j.created_at, j.id",
    tests: ["test/rooms/ingest/running.test.ts"]
  },
  {
    name: "ingest-turn-ends",
    why: "a job keeps its place for ever while others wait",
    file: "src/ingest/running/run-job.ts",
    from: "return yield* new TurnOver()",
    to: "return",
    tests: ["test/rooms/ingest/running.test.ts"]
  },
  {
    name: "ingest-passed-over",
    why: "a job that was cut off counts what it had written once more",
    file: "src/ingest/running/run-job.ts",
    from: "if (job.stats.cursor > 0 && batch.cursor <= job.stats.cursor) return\n",
    to: "",
    tests: ["test/rooms/ingest/running.test.ts"]
  },
  {
    name: "ingest-full-from-cursor",
    why: "a full pass that was cut off takes what it had brought before for missing",
    file: "src/ingest/running/run-job.ts",
    from: "place: { cursor: isFull ? 0 : stats.cursor, state }",
    to: "place: { cursor: stats.cursor, state }",
    tests: ["test/rooms/ingest/running.test.ts"]
  },
  {
    name: "ingest-unchanged",
    why: "a feed that has not changed counts as one without documents",
    file: "src/ingest/running/run-job.ts",
    from: "if (batch.isUnchanged === true) standing.isUnchanged = true\n",
    to: "",
    tests: ["test/rooms/ingest/running.test.ts"]
  },
  {
    name: "ingest-guard",
    why: "a full pass deletes whatever is missing",
    file: "src/ingest/running/delete-missing.ts",
    from: "missing <= MISSING_SHARE_MAX * total",
    to: "missing <= total",
    tests: ["test/rooms/ingest/running.test.ts"]
  },
  {
    name: "feeds-cut-off",
    why: "a feed that ends in its middle is a complete pass",
    file: "src/ingest/readers/xml.ts",
    from: 'if (parsing.isOpen) throw new FeedBroken("The feed ends in the middle.")\n',
    to: "",
    tests: ["test/rooms/ingest/readers.test.ts"]
  },
  {
    name: "uploads-checksum",
    why: "bytes that are not those of their checksum are kept",
    file: "src/ingest/uploads.ts",
    from: "if (after > offset && !isRight())",
    to: "if (false)",
    tests: ["test/contract/ingest-uploads.test.ts"]
  },
  {
    name: "pushes-read-again",
    why: "changes that were applied before a crash are applied again over newer ones",
    file: "src/connectors/applying/decide.ts",
    from: 'if (now !== undefined && isPassed(now.place, place)) return "skipped"\n',
    to: "",
    tests: ["test/rooms/connectors/applying.test.ts"]
  },
  {
    name: "pushes-after-deletion",
    why: "an upsert of the deletion's own version brings a document back",
    file: "src/connectors/applying/decide.ts",
    from: '(given < version || (deleted && op === "upsert" && given === version))',
    to: "given < version",
    tests: ["test/rooms/connectors/applying.test.ts"]
  },
  {
    name: "pushes-two-workers",
    why: "two workers apply changes of one collection at the same time",
    file: "src/connectors/applying/lines.ts",
    from: "if (!line.isLinedUp) this.again(line)",
    to: "this.again(line)",
    tests: ["test/rooms/connectors/applying.test.ts"]
  },
  {
    name: "pushes-offset",
    why: "the offset passes a record that waits for its collection",
    file: "src/connectors/applying/lines.ts",
    from: "?.find((offset) => !ours.has(offset) && done?.has(offset) !== true)",
    to: "?.find(() => false)",
    tests: ["test/rooms/connectors/applying.test.ts"]
  },
  {
    name: "pushes-sent-again",
    why: "a signed push that comes again is applied again",
    file: "src/connectors/store-push.ts",
    from: "if (known === undefined || known.is_stored) return known?.answer",
    to: "if (known !== undefined) yield* Effect.orDie(sql`DELETE FROM connector_pushes WHERE job_id = ${known.answer.job_id}`)\n    return undefined",
    tests: ["test/contract/connectors.test.ts"]
  },
  {
    name: "pushes-late-signature",
    why: "a signature is good for ever",
    file: "src/connectors/signature.ts",
    from: "const SIGNATURE_AGE_MAX_S = 300",
    to: "const SIGNATURE_AGE_MAX_S = 300_000_000_000",
    tests: ["test/contract/connectors.test.ts"]
  },
  {
    name: "pushes-retention",
    why: "what was pushed and is not applied goes with the time of its topic",
    file: "streams/host/retention.ts",
    from: "elsewhere.get(consumedKey(topic.name, partition)) ?? 0",
    to: "Infinity",
    tests: ["test/rooms/connectors/retention.test.ts"]
  },
  {
    name: "history-order",
    why: "a history that was cut remembers what came late though it had forgotten newer things",
    file: "streams/figures/history.ts",
    from: "next === undefined ? takes : [next, ...takes]",
    to: "takes",
    tests: ["test/streams/histories.test.ts"]
  },
  {
    name: "history-after-logout",
    why: "what somebody else does on a device after a user's logout is the user's",
    file: "streams/figures/history.ts",
    from: "entry.kind !== SEEN_AS && entry.at_s <= at_s",
    to: "entry.kind !== SEEN_AS",
    tests: ["test/streams/histories.test.ts"]
  },
  {
    name: "history-shadow-portions",
    why: "a replay of a visitor with much on one day leaves only the last portion",
    file: "streams/processors/affinities/write.ts",
    from: "DO UPDATE SET recent = h.recent || EXCLUDED.recent\n    RETURNING visitor",
    to: "DO UPDATE SET recent = EXCLUDED.recent\n    RETURNING visitor",
    tests: ["test/streams/histories.test.ts"]
  },
  {
    name: "window-column-segments",
    why: "a column of a window gives hits of one segment the values of another's",
    file: "engine-sdk/src/search/answer/hit-column.ts",
    from: "places[hits[i]] = place\n",
    to: "places[i] = place\n",
    tests: ["test/rooms/personalization/affinity-columns.test.ts"]
  },
  {
    name: "receipt-keepers",
    why: "the receipt of an erasure says of everybody that no rows were removed",
    file: "streams/replays/receipt.ts",
    from: "Object.values(rows).reduce((sum, n) => sum + n, 0)",
    to: "0",
    tests: ["test/streams/keepers.test.ts"]
  },
  {
    name: "experiment-taken-back",
    why: "what a unit contributed before stays in the sums beside what it contributes now",
    file: "streams/figures/experiment-sums.ts",
    from: 'SELECT -1 AS sign, ${columnsOf("b")}',
    to: 'SELECT 0 AS sign, ${columnsOf("b")}',
    tests: ["test/streams/experiments.test.ts"]
  },
  {
    name: "experiment-embedded",
    why: "a variant overrides what a signed key embeds",
    file: "src/experiments/experiment-step.ts",
    from: "if (embedded === undefined || !Object.hasOwn(embedded, name)) merged[name]",
    to: "merged[name]",
    tests: ["test/rooms/experiments/step.test.ts"]
  },
  {
    name: "experiment-kept-answers",
    why: "a kept answer of one variant is given to the visitors of another",
    file: "src/experiments/answer-key.ts",
    from: "[...table.gatesKey(organizationId, visitor, now_ms), ...drawn]",
    to: "[...table.gatesKey(organizationId, visitor, now_ms)]",
    tests: ["test/rooms/experiments/step.test.ts", "test/contract/experiments.test.ts"]
  },
  {
    name: "experiment-winner-unhealthy",
    why: "a winner is declared though the split is wrong",
    file: "src/experiments/results.ts",
    from: "if (!isHealthy(judged) || !hasEnough",
    to: "if (!hasEnough",
    tests: ["test/rooms/experiments/watch.test.ts"]
  },
  {
    name: "experiment-late-history",
    why: "what a user did before a run is left out of its sums where it came after the run had begun",
    file: "streams/processors/experiments/write-histories.ts",
    from: "if (late.length === 0) return []",
    to: "if (late.length >= 0) return []",
    tests: ["test/streams/experiment-histories.test.ts"]
  },
  {
    name: "experiment-split-order",
    why: "what a unit came with depends on the order that its answers are counted in",
    file: "streams/processors/experiments/emitted.ts",
    from: "unit.split[dimension] = laterOf(unit.split[dimension], search[dimension])",
    to: "unit.split[dimension] ||= search[dimension]",
    tests: ["test/streams/experiments.test.ts"]
  },
  {
    name: "experiment-kept-drafts",
    why: "a list that was merged for one visitor is kept for another, whose coins are others",
    file: "src/experiments/answer-key.ts",
    from: "variant !== undefined && experiment.isInterleaved ? draftOf(experiment, unit.id) : (variant ?? null)",
    to: "variant ?? null",
    tests: ["test/rooms/experiments/step.test.ts"]
  },
  {
    name: "experiment-rebuilt-bare",
    why: "a run that is made again from the log forgets what its users did before it",
    file: "streams/processors/experiments/rebuild.ts",
    from: "from === null ? null : String(from)",
    to: "null",
    tests: ["test/streams/experiment-histories.test.ts"]
  },
  {
    name: "profile-fixed-filter",
    why: "a profile's fixed filter is left out of the search",
    file: "src/profiles/profile-step.ts",
    from: "fixedFilter === undefined ? undefined : { filter: fixedFilter }",
    to: "fixedFilter === undefined ? undefined : {}",
    tests: ["test/rooms/profiles/profile-bounds.test.ts"]
  },
  {
    name: "profile-filterable",
    why: "a client's filter names any field beside a profile",
    file: "src/profiles/ready-profile.ts",
    from: "fields: this.manifest.filterable_fields,",
    to: "",
    tests: ["test/rooms/profiles/profile-bounds.test.ts", "test/contract/profiled-searches.test.ts"]
  },
  {
    name: "profile-pinned-key",
    why: "a browser key outlives the profile that it is bound to",
    file: "src/access/check/resolve-key.ts",
    from: "if (profile !== undefined && !known.hasProfile(organization_id, profile)) return undefined",
    to: "",
    tests: ["test/contract/profiled-searches.test.ts"]
  },
  {
    name: "profile-key-fields",
    why: "a profile searches by fields that the key does not show",
    file: "src/profiles/profile-step.ts",
    from: "const isSearchable = searchable.every(sees)",
    to: "const isSearchable = true",
    tests: ["test/contract/profiled-searches.test.ts"]
  },
  {
    name: "profile-union-page",
    why: "a merged list is longer than a profile in it lets a page be",
    file: "src/search/asked-parts.ts",
    from: "{ ...shared, per_page: String(max) }",
    to: "shared",
    tests: ["test/contract/profiled-searches.test.ts"]
  },
  {
    name: "outbound-second-look",
    why: "the address that a socket says it is connected to is not judged",
    file: "src/ports/outbound-http/exchange.ts",
    from: "if (socket.remoteAddress !== undefined && !isAllowed(socket.remoteAddress))",
    to: "if (false)",
    tests: ["test/ports/outbound-http-rebinding.test.ts"]
  },
  {
    name: "outbound-first-look",
    why: "addresses of a name are connected to before they are judged",
    file: "src/ports/outbound-http/node.ts",
    from: "const allowed = all.filter(isAllowed)",
    to: "const allowed = all",
    tests: ["test/ports/outbound-http-rebinding.test.ts"]
  },
  {
    name: "outbound-by-name",
    why: "the connection goes to the name, which is looked up once more",
    file: "src/ports/outbound-http/exchange.ts",
    from: "host: address,",
    to: "host,",
    tests: ["test/ports/outbound-http-rebinding.test.ts"]
  },
  {
    name: "fence-not-asked",
    why: "a stream worker whose partition was taken over commits",
    file: "streams/offsets/offsets.ts",
    from: "if (fence !== undefined && !(yield* store.holdsFence(unit, fence)))",
    to: "if (false)",
    tests: ["test/streams/simulation.test.ts"]
  },
  {
    name: "retention-past-consumers",
    why: "retention removes what no consumer has counted",
    file: "streams/host/retention.ts",
    from: "Math.min(past, ...consumed)",
    to: "past",
    tests: ["test/streams/simulation.test.ts"]
  },
  {
    name: "retention-past-consumers-host",
    why: "the same, where the stream worker never reports",
    file: "streams/host/retention.ts",
    from: "Math.min(past, ...consumed)",
    to: "past",
    tests: ["test/streams/host.test.ts"],
    only: "takes nothing away that no consumer"
  },
  {
    name: "retention-from-now",
    why: "retention reckons from now, not from where counting stands",
    file: "streams/host/retention.ts",
    from: "clock.currentTimeMillisUnsafe() - (yield* lag_ms)",
    to: "clock.currentTimeMillisUnsafe()",
    tests: ["test/streams/simulation.test.ts"]
  },
  {
    name: "retention-never",
    why: "retention never looks at the log",
    file: "streams/host/retention.ts",
    from: "Effect.catch(retain, ",
    to: "Effect.catch(Effect.void, ",
    tests: ["test/streams/simulation.test.ts"]
  },
  {
    name: "retention-not-started",
    why: "the host does not start its retention",
    file: "streams/host/host.ts",
    from: "yield* Effect.forkScoped(every(retentionEvery_ms))",
    to: "void every",
    tests: ["test/streams/host.test.ts"],
    only: "takes away what is past"
  },
  {
    name: "fan-out-any-organization",
    why: "endpoints get events of the other organizations in a batch",
    file: "src/webhooks/fan-out.ts",
    from: "endpoint.organization_id === organization_id && subscribes(",
    to: "subscribes(",
    tests: ["test/rooms/webhooks/webhook-fan-out.test.ts"]
  },
  {
    name: "fan-out-first-organization",
    why: "only the first organization of a batch gets its events",
    file: "src/webhooks/fan-out.ts",
    from: "[...new Set(events.map(({ organization_id }) => organization_id))]",
    to: "[events[0].organization_id]",
    tests: ["test/rooms/webhooks/webhook-fan-out.test.ts"]
  },
  {
    name: "promised-14-days",
    why: "failed deliveries leave a day early",
    file: "src/webhooks/deliveries-retention.ts",
    from: "14 * 86_400_000",
    to: "13 * 86_400_000",
    tests: ["test/rooms/housekeeping/promised-times.test.ts"]
  },
  {
    name: "promised-5-days",
    why: "a failing endpoint is disabled a day early",
    file: "src/webhooks/endpoint-failing.ts",
    from: "5 * 24 * 3_600_000",
    to: "4 * 24 * 3_600_000",
    tests: ["test/rooms/housekeeping/promised-times.test.ts"]
  },
  {
    name: "promised-24-hours",
    why: "an old secret of a webhook is used an hour less",
    file: "src/webhooks/secrets.ts",
    from: "24 * 3_600_000",
    to: "23 * 3_600_000",
    tests: ["test/rooms/housekeeping/promised-times.test.ts"]
  },
  {
    name: "promised-400-days",
    why: "the audit log is kept a day less",
    file: "src/audit/audit-repository.ts",
    from: "400 * DAY_MS",
    to: "399 * DAY_MS",
    tests: ["test/rooms/housekeeping/promised-times.test.ts"]
  },
  {
    name: "promised-400-days-jobs",
    why: "jobs are kept a day less",
    file: "src/jobs/jobs-retention.ts",
    from: "400 * 86_400_000",
    to: "399 * 86_400_000",
    tests: ["test/rooms/housekeeping/promised-times.test.ts"]
  },
  {
    name: "promised-12-hours",
    why: "a session of the console lasts an hour longer",
    file: "src/console/schema.ts",
    from: "12 * 3_600_000",
    to: "13 * 3_600_000",
    tests: ["test/rooms/housekeeping/promised-times.test.ts"]
  },
  {
    name: "session-without-end",
    why: "a session of the console never ends by its time",
    file: "src/console/session-table.ts",
    from: "return session.expires_at > now && member",
    to: "return member",
    tests: ["test/rooms/console/console-sessions.test.ts"]
  },
  {
    name: "forced-filter-ignored",
    why: "the filters of a key are read and not added to its searches",
    file: "engine-sdk/src/operations/restrictions.ts",
    from: "forced = allOf(forced, own.value)",
    to: "forced = undefined",
    tests: ["test/contract/key-security.test.ts"],
    only: "filters of a key"
  },
  {
    name: "tenant-dropped-webhook",
    why: "an endpoint is read by its id alone",
    file: "src/webhooks/endpoints-repository.ts",
    from: "WHERE organization_id = ${organizationId} AND id = ${id}`\n      ),\n    /** Locks",
    to: "WHERE id = ${id}`\n      ),\n    /** Locks",
    tests: ["test/contract/isolation.test.ts"],
    only: "shows nothing of one"
  },
  {
    name: "tenant-dropped-job",
    why: "a job is read by its id alone",
    file: "src/ingest/jobs-repository.ts",
    from: "FROM ingest_jobs WHERE organization_id = ${organizationId} AND id = ${id}`",
    to: "FROM ingest_jobs WHERE id = ${id}`",
    tests: ["test/contract/isolation.test.ts"],
    only: "shows nothing of one"
  },
  {
    name: "tenant-dropped-metrics",
    why: "figures are sums of all organizations",
    file: "src/analytics/rollup-source.ts",
    from: '"t.organization_id = $2",\n        "t.grain',
    to: '"$2::text IS NOT NULL",\n        "t.grain',
    tests: ["test/contract/isolation-metrics.test.ts"]
  },
  {
    name: "tenant-dropped-unrolled",
    why: "figures of ranges that are not rolled up yet are of all organizations",
    file: "src/analytics/rollup-source.ts",
    from: "WHERE organization_id = $1 AND minute_at >= $2",
    to: "WHERE $1::text IS NOT NULL AND minute_at >= $2",
    tests: ["test/contract/isolation-metrics.test.ts"]
  },
  {
    name: "metrics-empty",
    why: "figures are empty for everybody",
    file: "src/analytics/rollup-source.ts",
    from: '"t.organization_id = $2",\n        "t.grain',
    to: '"t.organization_id = $2 AND false",\n        "t.grain',
    tests: ["test/contract/isolation-metrics.test.ts"]
  },
  {
    name: "rate-never-refuses",
    why: "the rate limit of a key lets everything pass",
    file: "src/access/check/decision.ts",
    from: "if (!rate.isAllowed) return",
    to: "if (false) return",
    tests: ["test/contract/gateway.test.ts"],
    only: "count a minute"
  },
  {
    name: "budget-written-never-refuses",
    why: "an answer may be written without a bound",
    file: "engine-sdk/src/budget/answer-budget.ts",
    from: "if (this.#written + bytes > this.bytes_max) throw",
    to: "if (false) throw",
    tests: ["engine-sdk/test/answer-budget.test.ts"]
  },
  {
    name: "budget-held-never-refuses",
    why: "what is made on the way to an answer has no bound",
    file: "engine-sdk/src/budget/answer-budget.ts",
    from: "if (this.#held > this.bytes_max * HELD_PER_ANSWER) throw",
    to: "if (false) throw",
    tests: ["engine-sdk/test/answer-budget.test.ts"]
  },
  {
    name: "scope-unchecked",
    why: "a search key may do everything",
    file: "src/access/check/decision.ts",
    from: 'if (!scopeReaches(key, input.scope) || (input.isSecured && input.scope !== "search"))',
    to: "if (false)",
    tests: ["test/http/scopes.test.ts"]
  },
  {
    name: "collection-unchecked",
    why: "a key reaches collections that it does not list",
    file: "src/access/check/decision.ts",
    from: "if (input.collection !== undefined && !reachesCollection(input, input.collection)) return",
    to: "if (false) return",
    tests: ["test/rooms/access/decision.test.ts"]
  },
  {
    name: "secured-key-unchecked",
    why: "what is signed with a key does all that the key may",
    file: "src/access/check/decision.ts",
    from: ' || (input.isSecured && input.scope !== "search"))',
    to: ")",
    tests: ["test/rooms/access/decision.test.ts"]
  },
  {
    name: "all-collections-unchecked",
    why: "a key of some collections does what is about all of them",
    file: "src/access/check/decision.ts",
    from: "if (input.isOfAll && !reachesEverything(input))",
    to: "if (false)",
    tests: ["test/contract/reach.test.ts"]
  },
  {
    name: "everything-refused",
    why: "no key is let in, so every refusal is there",
    file: "src/access/check/decision.ts",
    from: "const rate = input.takeRateToken()",
    to: "return collectionClosed()\n  const rate = input.takeRateToken()",
    tests: ["test/contract/key-security.test.ts"],
    only: "in printable characters|keys that cannot sign|reach the collections that they list|that cannot be are refused by name"
  },
  {
    name: "last-line-lost",
    why: "the last line of a long stream of events is not read",
    file: "src/events/intake/ndjson.ts",
    from: "if (unfinishedBytes > 0) finishLine()",
    to: "void unfinishedBytes",
    tests: ["test/program/memory.test.ts"],
    only: "takes events as NDJSON"
  },
  {
    name: "filter-memory-without-field",
    why: "a remembered filter is taken for one of another field with the same value",
    file: "engine-sdk/src/search/filter/leaf-cache.ts",
    from: "const key = keyOf(filter)",
    to: 'const key = keyOf({ ...filter, field: "" } as Filter)',
    tests: ["engine-sdk/test/filters.test.ts"],
    only: "remembers of each field"
  },
  {
    name: "filter-memory-large-only",
    why: "the same, in segments of more than 1,000 documents only",
    file: "engine-sdk/src/search/filter/leaf-cache.ts",
    from: "const key = keyOf(filter)",
    to: 'const key = keyOf(segment.docs > 1_000 ? { ...filter, field: "" } as Filter : filter)',
    tests: ["engine-sdk/test/filters.test.ts"]
  },
  {
    name: "filter-memory-key-cut",
    why: "remembered lists that begin alike are taken for one",
    file: "engine-sdk/src/search/filter/leaf-cache.ts",
    from: "const key = keyOf(filter)",
    to: "const key = keyOf(filter).slice(0, 300)",
    tests: ["engine-sdk/test/filters.test.ts"],
    only: "remembers of each field"
  },
  {
    name: "golden-any-column",
    why: "a named difference excuses every column of its records",
    file: "test/golden/differences.ts",
    from: "columns.includes(column) && (",
    to: "(",
    tests: ["test/golden/differences.test.ts"]
  },
  {
    name: "golden-idle-untold",
    why: "a named difference that excuses nothing stays",
    file: "test/golden/differences.ts",
    from: "if (own.length === 0) return",
    to: "if (own.length < 0) return",
    tests: ["test/golden/differences.test.ts"]
  },
  {
    name: "understanding-hidden-value",
    why: "a key with a filter is named values of documents that it does not see",
    file: "src/understanding/visible-entities.ts",
    from: "if (asking.seesWhole) return",
    to: "if (asking) return",
    tests: ["test/contract/understanding.test.ts"]
  },
  {
    name: "understanding-hidden-word",
    why: "rewrites tell a key with a filter which words the index knows",
    file: "src/search/rewriting.ts",
    from: "...(plan.pinnedFilter === undefined ? {} : { filter: plan.pinnedFilter })",
    to: "...(plan.pinnedFilter === undefined ? {} : {})",
    tests: ["test/contract/understanding.test.ts"]
  },
  {
    name: "understanding-hidden-spelling",
    why: "a correction depends on words of documents that the key does not see",
    file: "engine-sdk/src/search/answer/corrections.ts",
    from: "const isRestricted = pinnedFilter !== undefined && allowed !== undefined",
    to: "const isRestricted = pinnedFilter === null && allowed !== undefined",
    tests: ["engine-sdk/test/understanding.test.ts"]
  },
  {
    name: "understanding-unbounded-rewrites",
    why: "each search of a request has six rewrites of its own",
    file: "src/search/rewriting.ts",
    from: "account.left--",
    to: "account.left += 0",
    tests: ["test/contract/understanding.test.ts"]
  },
  {
    name: "understanding-rewritten-report",
    why: "analytics count the rewrite in place of what was typed",
    file: "src/search/asked-search.ts",
    from: "made.used === undefined && asked_q === undefined ? planned.parameters :",
    to: "made.used !== undefined && asked_q === undefined ? planned.parameters :",
    tests: ["test/contract/understanding.test.ts"]
  },
  {
    name: "understanding-fallback-found",
    why: "what rules show where nothing was found keeps a query from being rewritten",
    file: "src/search/rewriting.ts",
    from: "trace?.fallback === undefined ? answer.found : 0",
    to: "trace === undefined ? answer.found : answer.found",
    tests: ["test/contract/understanding.test.ts"]
  },
  {
    name: "fallback-model-kept",
    why: "one visitor's recommendations are given to the next by `use_cache`",
    file: "src/search/asked-search.ts",
    from: 'trace?.fallback === "recommendations"',
    to: "trace === null",
    tests: ["test/contract/zero-hits-recommendations.test.ts"]
  },
  {
    name: "fallback-model-deleted",
    why: "a model that rules name is deleted",
    file: "src/recommendation-models/models.ts",
    from: "if (collections.length + experiments.length === 0) return",
    to: "if (collections.length < 2) return",
    tests: ["test/contract/zero-hits-recommendations.test.ts"]
  },
  {
    name: "fallback-model-impersonal",
    why: "what a visitor did acts on a key that says it must not",
    file: "src/rules/search-merchandise.ts",
    from: "isImpersonal || rules?",
    to: "rules?",
    tests: ["test/contract/zero-hits-recommendations.test.ts"]
  },
  {
    name: "fallback-model-waits",
    why: "each search waits again for a model that does not answer",
    file: "src/recommendation-models/fallback-models.ts",
    from: "if (answer === undefined) quietUntil",
    to: "if (answer !== undefined) quietUntil",
    tests: ["test/rooms/recommendations/fallback-models.test.ts"]
  },
  {
    name: "training-chosen",
    why: "a training answers by other parameters than those that served best",
    file: "src/recommendations/trial.ts",
    from: "best = i + 1",
    to: "best = i",
    tests: ["test/rooms/recommendations/train.test.ts"]
  },
  {
    name: "training-chance",
    why: "a handful of cases changes what a model answers",
    file: "src/recommendations/trial.ts",
    from: "own === undefined || own.cases < CASES_MIN",
    to: "own === undefined",
    tests: ["test/rooms/recommendations/train.test.ts"]
  },
  {
    name: "training-clock",
    why: "figures of a training depend on how busy the machine is",
    file: "src/recommendations/trial.ts",
    from: "new Workbench({ listsFor_ms: LISTS_FOR_MS })",
    to: "new Workbench({ listsFor_ms: 1_000 * Math.random() * LISTS_FOR_MS })",
    tests: ["test/rooms/recommendations/train.test.ts"]
  },
  {
    name: "training-kept",
    why: "who changes a model's parameters goes on with those that a training found",
    file: "src/recommendation-models/models.ts",
    from: "isDeepStrictEqual(fields.params, before.params)",
    to: "true",
    tests: ["test/contract/recommendations.test.ts"]
  },
  {
    name: "recommend-merged",
    why: "partitions are read one after the other, so that what is new lies behind what is old",
    file: "src/recommendation-models/live/merged-reading.ts",
    from: "return { head, bar: bar + SLACK_MS }",
    to: "return { head, bar: Infinity }",
    tests: ["test/rooms/recommendations/merged-reading.test.ts"]
  },
  {
    name: "recommend-rebuilt-for-all",
    why: "who makes one organization's models again counts everybody else's events twice",
    file: "src/recommendation-models/live/life.ts",
    from: "return this.#hand(part, organizationId)",
    to: "return this.#hand(part, undefined)",
    tests: ["test/rooms/recommendations/live.test.ts"]
  },
  {
    name: "recommend-unheard",
    why: "a replay reaches the process that does its job alone",
    file: "src/recommendation-models/live/life.ts",
    from: "return fresh.map(({ organizationId }) => organizationId)",
    to: "return fresh.slice(fresh.length).map(({ organizationId }) => organizationId)",
    tests: ["test/rooms/recommendations/live.test.ts"]
  },
  {
    name: "recommend-alike-twice",
    why: "what is learned of visits depends on who else was there at the same moment",
    file: "engine-sdk/src/recommend/next-items.ts",
    from: "if (read.found[place] === d) continue",
    to: "if (read.found[place] === -2) continue",
    tests: ["engine-sdk/test/recommend.test.ts"]
  },
  {
    name: "recommend-baskets-twice",
    why: "a basket counts once for each time that somebody else came in between",
    file: "engine-sdk/src/recommend/bought-together.ts",
    from: "if (seen.has(basket)) continue",
    to: "if (seen.has(-basket)) continue",
    tests: ["engine-sdk/test/recommend.test.ts"]
  },
  {
    name: "typesense-escape",
    why: "two names of collections on a shared server are one",
    file: "engine-sdk/src/typesense/names.ts",
    from: "else if (unit === ESCAPE) out += ESCAPE + ESCAPE",
    to: "else if (unit === ESCAPE) out += ESCAPE",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-read-parts",
    why: "a collection of another installation is taken for one's own",
    file: "engine-sdk/src/typesense/names.ts",
    from: "return parts.length !== 2 || namespace",
    to: "return parts.length < 2 || namespace",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-create-twice",
    why: "a document that may be made once is sent to the next node when its answer was lost",
    file: "engine-sdk/src/typesense/write.ts",
    from: 'const isPut = actionOf(put) !== "create"',
    to: "const isPut = true",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-anonymous-twice",
    why: "a document without an id is sent to the next node when its answer was lost",
    file: "engine-sdk/src/typesense/write.ts",
    from: "isRepeatable: isPut && lines.every(({ hasId }) => hasId)",
    to: "isRepeatable: isPut",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-runtime-repeats",
    why: "the runtime itself sends a write twice whose connection ended",
    file: "engine-sdk/src/typesense/client.ts",
    from: "return isRepeatable ? { headers, body: text }",
    to: "return true ? { headers, body: text }",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-aside",
    why: "a node that failed is asked by every request",
    file: "engine-sdk/src/typesense/nodes.ts",
    from: "cost(a) - cost(b)",
    to: "0",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-hits-unchecked",
    why: "a server that answers hits which are none makes the process fail",
    file: "engine-sdk/src/typesense/read-answer.ts",
    from: 'list(raw, "hits").map',
    to: "(raw as ReadonlyArray<unknown>).map",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-answer-bytes",
    why: "an answer of the server may be as large as it likes",
    file: "engine-sdk/src/typesense/client.ts",
    from: "if (bytes > most)",
    to: "if (bytes > Infinity)",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-gate",
    why: "one tenant takes the place of all",
    file: "engine-sdk/src/typesense/gate.ts",
    from: "return this.#count < this.#most && (this.#inside.get(namespace) ?? 0) < this.#mostOfOne",
    to: "return this.#count < this.#most",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-unstemmed",
    why: "a stemmed word is printed as it is and stemmed once more",
    file: "engine-sdk/src/typesense/print-words.ts",
    from: "return tried.find((word) => same(analyzer.tokenize(word), [token]))",
    to: "return token",
    tests: ["test/engine/typesense-print.test.ts"]
  },
  {
    name: "typesense-implied-joins",
    why: "what a filter joins is shown although the plan does not",
    file: "engine-sdk/src/typesense/print-selection.ts",
    from: "...hidden.map((collection) => `$${collection}(*)`)",
    to: "",
    tests: ["test/engine/typesense-print.test.ts"]
  },
  {
    name: "typesense-stale-look",
    why: "a look that began before a change undoes it",
    file: "engine-sdk/src/typesense/directory.ts",
    from: "if (!this.#touched.has(serverName)) this.#put(read, serverName)",
    to: "this.#put(read, serverName)",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-searches-stay",
    why: "a search is not asked of the next node",
    file: "engine-sdk/src/typesense/search.ts",
    from: "    attempt_ms: left_ms() + WAY_MS,\n    isRepeatable: true,",
    to: "    attempt_ms: left_ms() + WAY_MS,\n    isRepeatable: false,",
    tests: ["test/ports/typesense-server.test.ts"]
  },
  {
    name: "typesense-placed-restricted",
    why: "a restricted caller's pins are shown whatever restricts it",
    file: "engine-sdk/src/typesense/compose.ts",
    from: ".filter(({ id }) => pinnable!.has(id))",
    to: ".filter(() => true)",
    tests: ["test/ports/typesense-placed.test.ts"]
  },
  {
    name: "typesense-placed-hidden",
    why: "what a request hides is hidden from rules too",
    file: "engine-sdk/src/typesense/compose.ts",
    from: "hidden: plan.hidden.filter((id) => !named.has(id))",
    to: "hidden: plan.hidden",
    tests: ["test/ports/typesense-placed.test.ts"]
  },
  {
    name: "typesense-placed-count",
    why: "documents that are placed count as found by the query",
    file: "engine-sdk/src/typesense/compose.ts",
    from: "isCounted ? answers[1]!.found : undefined",
    to: "undefined",
    tests: ["test/ports/typesense-placed.test.ts"]
  },
  {
    name: "typesense-placed-shown",
    why: "fields that stages read are shown to who may not see them",
    file: "engine-sdk/src/typesense/compose.ts",
    from: "return this.#isWider ? { ...hit",
    to: "return false ? { ...hit",
    tests: ["test/ports/typesense-placed.test.ts"]
  },
  {
    name: "typesense-boosts-order",
    why: "of boosts that a document passes only some count",
    file: "engine-sdk/src/typesense/print-sort.ts",
    from: ".sort((a, b) => b.length - a.length)",
    to: ".sort((a, b) => a.length - b.length)",
    tests: ["test/ports/typesense-placed.test.ts"]
  },
  {
    name: "workers-shares",
    why: "a tenant's dear searches have as many turns at the workers as another's cheap ones",
    file: "engine-sdk/src/lane/fair-lines.ts",
    from: "next.used += one.expected_ms / one.weight",
    to: "next.used += 1",
    tests: ["engine-sdk/test/fair-lines.test.ts"]
  },
  {
    name: "workers-learn",
    why: "a search worker that could not learn what changed goes on with what it had",
    file: "engine-sdk/src/lane/search-worker.ts",
    from: "queueMicrotask(() => {\n      throw error\n    })\n    return new Promise(() => {})",
    to: "throw error",
    tests: ["engine-sdk/test/search-workers.test.ts"],
    only: "search workers that end"
  },
  {
    name: "workers-at-once",
    why: "when the last search worker ends all that waits runs in one piece where it arrived",
    file: "engine-sdk/src/lane/search-pool.ts",
    from: "for (; !this.isReady && !this.isClosed; await pause()) {",
    to: "for (; !this.isReady && !this.isClosed; ) {",
    tests: ["engine-sdk/test/search-workers.test.ts"],
    only: "search workers that end"
  },
  {
    name: "workers-deletions",
    why: "a search worker hears of the first deletions of a segment only",
    file: "engine-sdk/src/lane/shared-views.ts",
    from: "before?.deletedCount === deletedCount",
    to: "(before?.deletedCount ?? 0) > 0",
    tests: ["engine-sdk/test/search-workers.test.ts"],
    only: "see at once"
  },
  {
    name: "workers-unready",
    why: "the first facet of many values after an import waits for what should be there",
    file: "engine-sdk/src/search/prepare-segment.ts",
    from: "if (facet && reader.unmapped(name) > UNMAPPED_MAX)",
    to: "if (false && facet && reader.unmapped(name) > UNMAPPED_MAX)",
    tests: ["engine-sdk/test/search-workers.test.ts"],
    only: "have a facet of many values ready"
  },
  {
    name: "workers-unread",
    why: "memory that a search worker reads is used again meanwhile",
    file: "engine-sdk/src/lane/search-pool.ts",
    from: "return left.size === 0 ? undefined",
    to: "return true ? undefined",
    tests: ["engine-sdk/test/search-workers.test.ts"],
    only: "are waited for"
  },
  {
    name: "sections-stored",
    why: "a relevance index is made again after every start",
    file: "engine-sdk/src/store/index-files.ts",
    from: "whole.push({ id, name, meta, region })",
    to: "void [id, name, meta, region]",
    tests: ["engine-sdk/test/segment-sections.test.ts"]
  },
  {
    name: "sections-released",
    why: "memory of what was derived is lent for ever once its segment was merged",
    file: "engine-sdk/src/store/segment-merger.ts",
    from: "for (const region of regionsOf(old.segment)) release(region)",
    to: "release(old.segment.region)",
    tests: ["engine-sdk/test/segment-sections.test.ts"]
  },
  {
    name: "sections-merged",
    why: "the words of another document are taken over at a merge",
    file: "engine-sdk/src/store/segment-sections.ts",
    from: "segment, doc: fromDoc[doc] }",
    to: "segment, doc: fromDoc[doc] >> 1 }",
    tests: ["engine-sdk/test/segment-sections.test.ts"]
  },
  {
    name: "sections-waited",
    why: "a search reads a large collection itself instead of waiting for its index",
    file: "engine-sdk/src/memory/local-engine.ts",
    from: "if (asked.waits) waits.push(made)",
    to: "if (!asked.waits) waits.push(made)",
    tests: ["engine-sdk/test/segment-sections.test.ts"]
  },
  {
    name: "sections-shared-totals",
    why: "one thread takes its deletions off what all count by",
    file: "engine-sdk/src/search/facets/segment-totals.ts",
    from: "totals.live = totals.live.slice()",
    to: "totals.live = totals.live.subarray(0)",
    tests: ["engine-sdk/test/segment-sections.test.ts"]
  },
  {
    name: "sections-told",
    why: "other threads do not hear of what was derived",
    file: "engine-sdk/src/lane/shared-views.ts",
    from: "sections === (before?.sections ?? NO_SECTIONS)",
    to: "sections !== undefined",
    tests: ["engine-sdk/test/segment-sections.test.ts"]
  },
  {
    name: "talk-owner",
    why: "another session goes on with a conversation",
    file: "src/conversations/begin-turn.ts",
    from: "if (sessionId === undefined || !ids.isOf(id, organizationId, sessionId))",
    to: "if (sessionId === undefined)",
    tests: ["test/contract/conversations.test.ts"]
  },
  {
    name: "talk-owner-tail",
    why: "the end of a conversation's id does not depend on whose it is",
    file: "src/conversations/ids.ts",
    from: "sessionId ?? null, stem]",
    to: "null, stem]",
    tests: ["test/contract/conversations.test.ts"]
  },
  {
    name: "talk-typed",
    why: "analytics and answers have what was searched in place of what was asked",
    file: "src/conversations/take-turn.ts",
    from: "yield* run({ ...request, shared, typed: turn.question })",
    to: "yield* run({ ...request, shared })",
    tests: ["test/contract/conversations.test.ts"]
  },
  {
    name: "talk-unpaid",
    why: "an answer whose reader left is not paid",
    file: "src/conversations/take-turn.ts",
    from: "outcome.error === undefined || isWritten",
    to: "outcome.error === undefined",
    tests: ["test/contract/conversation-models.test.ts"]
  },
  {
    name: "talk-links",
    why: "a model's answer leads wherever it likes",
    file: "src/conversations/answering.ts",
    from: 'this.#add(this.#filter.push(unmarked(delta.replace(CONTROLS, ""))))',
    to: "this.#add(unmarked(delta))",
    tests: ["test/contract/conversation-models.test.ts"]
  },
  {
    name: "talk-links-moved",
    why: "a link leads to a place of its source's host that is in no source",
    file: "src/assistants/prompt/addresses.ts",
    from: "return `${host}${pathname}${search}${hash}`",
    to: "return `${host}${pathname}`",
    tests: ["test/rooms/assistants/prompt.test.ts"]
  },
  {
    name: "talk-links-held",
    why: "an address that is cut in two is no address",
    file: "src/assistants/prompt/links.ts",
    from: "if (/\\s/.test(character)) out += this.#wordEnd()",
    to: "if (/[\\s:]/.test(character)) out += this.#wordEnd()",
    tests: ["test/rooms/assistants/prompt.test.ts"]
  },
  {
    name: "talk-fence",
    why: "a document that knows the mark closes its fence",
    file: "src/assistants/prompt/fence.ts",
    from: "    .replace(mark, JOIN)\n",
    to: "",
    tests: ["test/rooms/assistants/prompt.test.ts"]
  },
  {
    name: "talk-ttl",
    why: "a message is read after its time",
    file: "src/conversations/history.ts",
    from: "&& timestamp:>=${since_s}`",
    to: "`",
    tests: ["test/rooms/conversations/history.test.ts"]
  },
  {
    name: "talk-expiry-others",
    why: "messages of other models leave with those of one",
    file: "src/conversations/history.ts",
    from: "`timestamp:<${since_s} && model_id:=\\`${model.id}\\``",
    to: "`timestamp:<${since_s}`",
    tests: ["test/rooms/conversations/history.test.ts"]
  },
  {
    name: "models-secret-moves",
    why: "a credential is sent to another address than it was given for",
    file: "src/language-models/model.ts",
    from: "return kept === undefined\n    ? merged",
    to: "return kept !== undefined\n    ? merged",
    tests: ["test/contract/conversation-models.test.ts", "test/contract/nl-search-models.test.ts"]
  },
  {
    name: "models-masks",
    why: "an answer shows the key of a service account",
    file: "src/language-models/model.ts",
    from: 'name.includes("key") ? maskSecret(value) : value',
    to: "value",
    tests: ["test/contract/nl-search-gcp.test.ts"]
  },
  {
    name: "gcp-token-kept",
    why: "every search in words asks for an access token",
    file: "src/language-models/google-tokens.ts",
    from: "    kept.set(model, token)\n",
    to: "",
    tests: ["test/contract/nl-search-gcp.test.ts"]
  },
  {
    name: "talk-places",
    why: "an answer that ended keeps its place among those that are written at once",
    file: "src/conversations/conversing.ts",
    from: "Effect.sync(() => open.give(places))",
    to: "Effect.sync(() => undefined)",
    tests: ["test/contract/conversation-models.test.ts"]
  },
  {
    name: "talk-instructions",
    why: "an answer quotes sentences that talk to a model",
    file: "src/conversations/sources.ts",
    from: ".filter((sentence) => !isInstruction(sentence))",
    to: ".filter((sentence) => sentence !== undefined)",
    tests: ["test/rooms/conversations/told.test.ts"]
  },
  {
    name: "vector-bytes-bounds",
    why: "bytes are taken for the vectors, so an exact search misses what they put too far",
    file: "engine-sdk/src/index/graph-search.ts",
    from: "most = off + offByScale * this.scales[node] + ROUNDING",
    to: "most = 0",
    tests: ["engine-sdk/test/vectors-in-files.test.ts"]
  },
  {
    name: "vector-files-named",
    why: "a file goes that the snapshot names, so a start makes the whole index anew",
    file: "engine-sdk/src/store/vector-files.ts",
    from: "if (this.users.has(name) || this.named.get(ownerOf(name))?.has(name) === true) return",
    to: "if (this.users.has(name)) return",
    tests: ["engine-sdk/test/vectors-in-files.test.ts"]
  },
  {
    name: "guide-html",
    why: "a document's HTML, and any script in it, becomes part of the guide's page",
    file: "src/docs/guide/read-page.ts",
    from: "html: false",
    to: "html: true",
    tests: ["test/docs/site.test.ts"]
  },
  {
    name: "guide-dead-heading",
    why: "a link to a heading that is gone is published",
    file: "src/docs/guide/dead-links.ts",
    from: 'target.anchor === "" ||',
    to: "there !== undefined ||",
    tests: ["test/docs/site.test.ts"]
  },
  {
    name: "drawer-modal",
    why: "the focus leaves an open drawer for what lies behind it",
    file: "src/demo/page/page.js",
    from: "drawer.showModal()",
    to: "drawer.show()",
    tests: ["test/browser/drawer.test.ts"]
  },
  {
    name: "receiver-age",
    why: "a delivery that somebody kept is believed again a month later",
    file: "examples/webhook-receiver/receiver.mjs",
    from: "const AGE_S_MAX = 300",
    to: "const AGE_S_MAX = 3_000_000",
    tests: ["test/examples/examples.test.ts"]
  },
  {
    name: "writer-priority",
    why: "merges compete with quick searches for the processors",
    file: "engine-sdk/src/store/writer-worker.ts",
    from: "yieldToQuickSearches()\n",
    to: "",
    tests: ["engine-sdk/test/thread-priority.test.ts"]
  },
  {
    name: "outline-absent",
    why: "a search gets the filter of another caller's key, because its plan was restored from that caller's",
    file: "engine-sdk/src/lane/plan-outline.ts",
    from: "for (const key of sent.absent ?? []) delete",
    to: "for (const key of [] as Array<keyof SearchPlan>) delete",
    tests: ["engine-sdk/test/plan-outline.test.ts"]
  },
  {
    name: "written-page",
    why: "hits of a page from another thread are read at wrong places",
    file: "engine-sdk/src/search/answer/page-text.ts",
    from: "at += scored + 1",
    to: "at += scored",
    tests: ["engine-sdk/test/page-text.test.ts"]
  },
  {
    name: "lane-priority",
    why: "long searches compete with quick ones for the processors",
    file: "engine-sdk/src/lane/search-worker.ts",
    from: "if (isForLong) yieldToQuickSearches()\n",
    to: "",
    tests: ["engine-sdk/test/thread-priority.test.ts"]
  },
  {
    name: "counter-stall",
    why: "after a stall, units that others have returned are refused",
    file: "src/ports/counter/leased/settles-within.ts",
    from: "const PIECES = 5",
    to: "const PIECES = 1",
    tests: ["test/ports/counter.test.ts"],
    only: "stalls"
  },
  {
    name: "cancelled-claimed",
    why: "a job that is cancelled while a worker claims it is begun, and is shown as running for good",
    file: "src/jobs/job-claims.ts",
    from: " FOR UPDATE SKIP LOCKED",
    to: "",
    tests: ["test/rooms/jobs/job-worker.test.ts"],
    only: "being cancelled"
  },
  {
    name: "practice-ranking",
    why: "no thread has run a relevance search before the first searcher does",
    file: "engine-sdk/src/operations/warm-up.ts",
    from: "relevanceSearches(ranked,",
    to: "relevanceSearches(names,",
    tests: ["engine-sdk/test/warm-up.test.ts"]
  },
  {
    name: "frequencies-at-once",
    why: "the first relevance search after a start or a merge counts a million roots",
    file: "engine-sdk/src/search/relevance/frequency-table.ts",
    from: "<= AT_ONCE_ROOTS",
    to: "<= AT_ONCE_ROOTS * 1_000",
    tests: ["engine-sdk/test/frequency-table.test.ts"]
  },
  {
    name: "gallop-stride",
    why: "a galloping search skips the boundary",
    file: "engine-sdk/src/sorted.ts",
    from: "isBefore(low + stride - 1)",
    to: "isBefore(low)",
    tests: ["engine-sdk/test/sorted.test.ts"]
  },
  {
    name: "scan-broken-token",
    why: "a word within a token (dv7-1211ea) is not marked",
    file: "engine-sdk/src/analysis/analyzer.ts",
    from: "isBroken = b < broken.length && broken[b] === i",
    to: "isBroken = false",
    tests: ["engine-sdk/test/text-tokens.test.ts"]
  },
  {
    name: "scan-kept-space",
    why: "a text of ten megabytes leaves its space with the thread",
    file: "engine-sdk/src/analysis/text-tokens.ts",
    from: "length > SCANNED_MAX || ",
    to: "",
    tests: ["engine-sdk/test/text-tokens.test.ts"]
  },
  {
    name: "stored-sets-dirty",
    why: "common words are found in documents that used the memory before",
    file: "engine-sdk/src/index/making-sets.ts",
    from: "set.bits.fill(0)",
    to: "set.bits.fill(0, 0, 1)",
    tests: ["engine-sdk/test/stored-sets.test.ts"]
  },
  {
    name: "stored-sets-bound",
    why: "a collection whose words are all common takes three times its index for their sets",
    file: "engine-sdk/src/index/making-sets.ts",
    from: ".slice(0, most)",
    to: ".slice(0)",
    tests: ["engine-sdk/test/stored-sets.test.ts"]
  },
  {
    name: "pool-ties",
    why: "which of equal documents get a close look depends on how often the pool was full",
    file: "engine-sdk/src/search/relevance/best-documents.ts",
    from: "equal-- <= 0",
    to: "equal-- < 0",
    tests: ["engine-sdk/test/best-documents.test.ts"]
  },
  {
    name: "marked-roots",
    why: 'a search by relevance for "die" does not mark "dying"',
    file: "engine-sdk/src/search/relevance/marking.ts",
    from: "root.length <= 3",
    to: "root.length <= 0",
    tests: ["test/engine/relevance.test.ts"],
    only: "second letter"
  },
  {
    name: "searched-list",
    why: "a filter that leaves few matches changes their scores",
    file: "engine-sdk/src/search/relevance/score-matches.ts",
    from: "p < end && postingDocs[p] === doc",
    to: "p < end && postingDocs[p] !== doc",
    tests: ["test/engine/relevance.test.ts"],
    only: "wherever the document is"
  },
  {
    name: "joint-masks",
    why: "documents of a block stay although a word is not in them",
    file: "engine-sdk/src/search/text/candidates.ts",
    from: "any &= masks[i]",
    to: "any = masks[i]",
    tests: ["engine-sdk/test/matching-docs.test.ts"]
  },
  {
    name: "joint-fifth-set",
    why: "a word is not found in the fifth field that has it",
    file: "engine-sdk/src/search/text/candidates.ts",
    from: "for (let at = 4; at < sets.length; at++) any |= sets[at][w]\n    any &= masks[i]",
    to: "for (let at = 5; at < sets.length; at++) any |= sets[at][w]\n    any &= masks[i]",
    tests: ["engine-sdk/test/matching-docs.test.ts"]
  },
  {
    name: "joint-block",
    why: "documents are looked up in another document's block",
    file: "engine-sdk/src/search/text/candidates.ts",
    from: "if (w !== block) {",
    to: "if (block < 0) {",
    tests: ["engine-sdk/test/matching-docs.test.ts"]
  },
  {
    name: "tokens-not-written",
    why: "a word with a dropped character is looked up by its token, not as it is written",
    file: "engine-sdk/src/analysis/analyzer.ts",
    from: "let areLower = !this.stems && broken.length === 0",
    to: "let areLower = !this.stems",
    tests: ["engine-sdk/test/text-tokens.test.ts"]
  },
  {
    name: "vector-row-start",
    why: "a document's vector begins with the words of the one before it",
    file: "engine-sdk/src/search/relevance/diffusion.ts",
    from: "let entries = rowStarts[i]",
    to: "let entries = 0",
    tests: ["test/engine/relevance.test.ts"]
  },
  {
    name: "import-searched",
    why: "searches during an import visit dozens of segments",
    file: "engine-sdk/src/store/segment-merger.ts",
    from: "this.searchedAt = performance.now()",
    to: "this.searchedAt = -10_000",
    tests: ["engine-sdk/test/import-merging.test.ts"]
  },
  {
    name: "import-unsearched",
    why: "an import that nobody waits for merges as often as one that slows searches",
    file: "engine-sdk/src/memory/local-engine.ts",
    from: "if (entry !== undefined) entry.searches++",
    to: "for (const each of this.entries.values()) each.searches++",
    tests: ["engine-sdk/test/import-merging.test.ts"]
  },
  {
    name: "port-twice",
    why: "two servers are told to listen on one port",
    file: "scripts/postgres-server.mjs",
    from: "FIRST_PORT + (next++ % PORTS)",
    to: "FIRST_PORT + Math.floor(Math.random() * PORTS)",
    tests: ["test/program/free-port.test.ts"]
  },
  {
    name: "diffused-below-rest",
    why: "a document that got a close look falls behind those that got none",
    file: "engine-sdk/src/search/relevance/close-look.ts",
    from: "const lift = Math.max(0, rest - least)",
    to: "const lift = Math.max(0, -least)",
    tests: ["test/engine/relevance.test.ts"]
  },
  {
    name: "skipped-others",
    why: "documents that may be among the best are not scored after the most promising ones",
    file: "engine-sdk/src/search/text/top-k-scorer.ts",
    from: "isTop[mark] === 0 && exactVerdicts[mark] !== BELOW",
    to: "isTop[mark] === 2 && exactVerdicts[mark] !== BELOW",
    tests: ["engine-sdk/test/best-of-many.test.ts"]
  },
  {
    name: "marks-by-sets",
    why: "fields whose words are common are not marked",
    file: "engine-sdk/src/search/highlight/highlight.ts",
    from: "if (hasBit(sets[i], doc)) return true",
    to: "if (hasBit(sets[i], doc)) return false",
    tests: ["engine-sdk/test/best-of-many.test.ts"]
  },
  {
    name: "vector-room-shrunk",
    why: "weights of a window outlive its columns",
    file: "engine-sdk/src/search/relevance/diffusion.ts",
    from: "columnCells[root] = 0\n    keepLittle()",
    to: "columnCells[root] &= 1\n    keepLittle()",
    tests: ["test/engine/relevance.test.ts"]
  },
  {
    name: "class-too-high",
    why: "documents that may be among the best are left out",
    file: "engine-sdk/src/search/relevance/best-documents.ts",
    from: "edgeHalves[1] = (at + FIRST_CLASS) << CLASS_SHIFT",
    to: "edgeHalves[1] = (at + 1 + FIRST_CLASS) << CLASS_SHIFT",
    tests: ["engine-sdk/test/best-documents.test.ts"]
  },
  {
    name: "class-of-all",
    why: "a search for all documents' scores loses most of them",
    file: "engine-sdk/src/search/relevance/best-documents.ts",
    from: "if (least === -Infinity && !this.keepsAll &&",
    to: "if (least === -Infinity &&",
    tests: ["engine-sdk/test/best-documents.test.ts"]
  },
  {
    name: "same-score-cut",
    why: "documents whose score is the same on the wire are ordered by how they were cut",
    file: "engine-sdk/src/search/relevance/best-documents.ts",
    from: "least = reachedByBest(this.looked, values, size) - SAME_SCORE",
    to: "least = reachedByBest(this.looked, values, size)",
    tests: ["engine-sdk/test/best-documents.test.ts"]
  },
  {
    name: "long-text-short",
    why: "a text of thousands of words weighs as one of 255",
    file: "engine-sdk/src/search/relevance/weighting.ts",
    from: "length < LONG ? length : lengths[doc]",
    to: "lengths[doc] >= 0 ? length : lengths[doc]",
    tests: ["engine-sdk/test/unit-builder.test.ts"]
  },
  {
    name: "occurrences-overflow",
    why: "a word that occurs 256 times counts as none",
    file: "engine-sdk/src/search/relevance/unit-index.ts",
    from: "else if (occurrences[next[term] - 1] < COUNT_MAX * ONCE)",
    to: "else",
    tests: ["engine-sdk/test/unit-builder.test.ts"]
  },
  {
    name: "window-worst-first",
    why: "diffusion gives up on the best documents instead of the worst",
    file: "engine-sdk/src/search/relevance/close-look.ts",
    from: "for (let i = size - 1; i >= 0; i--) sorted.push",
    to: "for (let i = 0; i < size; i++) sorted.push",
    tests: ["test/engine/relevance.test.ts"]
  },
  {
    name: "old-section-kept",
    why: "after an upgrade, indexes that nothing reads stay in memory and on disk",
    file: "engine-sdk/src/search/relevance/unit-sections.ts",
    from: "name.startsWith(FAMILY)",
    to: "name.startsWith(PREFIX)",
    tests: ["engine-sdk/test/unit-sections.test.ts"]
  },
  {
    name: "old-section-read",
    why: "an index of another version counts as one of this",
    file: "engine-sdk/src/search/relevance/unit-sections.ts",
    from: "if (!section.startsWith(PREFIX) ||",
    to: "if (!isUnitSection(section) ||",
    tests: ["engine-sdk/test/unit-sections.test.ts"]
  },
  {
    name: "range-of-segment",
    why: "postings after the first 65,536 documents of a segment count for nothing",
    file: "engine-sdk/src/search/relevance/score-matches.ts",
    from: "  reading.at = end\n",
    to: "  reading.at = reading.end\n",
    tests: ["engine-sdk/test/score-matches.test.ts"]
  },
  {
    name: "range-cells-kept",
    why: "a document gets the counts of another one of an earlier range",
    file: "engine-sdk/src/search/relevance/score-matches.ts",
    from: "    if (tf === 0) continue\n    tfs[cell] = 0\n",
    to: "    if (tf === 0) continue\n",
    tests: ["engine-sdk/test/score-matches.test.ts"]
  },
  {
    name: "matched-sets-stale",
    why: "documents of an earlier search match",
    file: "engine-sdk/src/search/relevance/matched-sets.ts",
    from: "else into.set(this.terms.of(t, s))",
    to: "else orInto(into, this.terms.of(t, s))",
    tests: ["test/engine/relevance.test.ts"]
  },
  {
    name: "any-sets-stale",
    why: "documents of an earlier search match",
    file: "engine-sdk/src/search/relevance/matched-sets.ts",
    from: "set.set(this.terms.of(0, s))",
    to: "orInto(set, this.terms.of(0, s))",
    tests: ["test/engine/relevance.test.ts"]
  },
  {
    name: "live-too-few",
    why: "words are dropped although enough documents have them all",
    file: "engine-sdk/src/search/relevance/matched-sets.ts",
    from: "docs += liveDocs(set, this.segments[s].deleted, FOUND_MIN - docs)",
    to: "docs += liveDocs(set, this.segments[s].deleted, FOUND_MIN - docs - 1)",
    tests: ["test/engine/relevance.test.ts"]
  },
  {
    name: "live-deleted",
    why: "deleted documents count as enough that have all words",
    file: "engine-sdk/src/search/relevance/matched-sets.ts",
    from: "popcount32(deleted === undefined ? set[w] : set[w] & ~deleted[w])",
    to: "popcount32(set[w])",
    tests: ["test/engine/relevance.test.ts"]
  },
  {
    name: "look-short",
    why: "documents whose scores are diffused are half as many",
    file: "engine-sdk/src/search/relevance/best-documents.ts",
    from: "const SHORT_LOOK_DOCS = 100",
    to: "const SHORT_LOOK_DOCS = 50",
    tests: ["engine-sdk/test/best-documents.test.ts"]
  },
  {
    name: "look-pool",
    why: "the pool of a short look keeps what it has sorted out",
    file: "engine-sdk/src/search/relevance/best-documents.ts",
    from: "if (this.pooled === POOL_FACTOR * this.looked)",
    to: "if (this.pooled === POOL_FACTOR * this.looked + 1)",
    tests: ["engine-sdk/test/best-documents.test.ts"]
  },
  {
    name: "room-for-few",
    why: "the last of very many matches get no score",
    file: "engine-sdk/src/search/relevance/score-matches.ts",
    from: "most > COUNTED_FROM ? countBits(matched) : most",
    to: "Math.min(COUNTED_FROM, most)",
    tests: ["engine-sdk/test/score-matches.test.ts"]
  },
  {
    name: "class-of-others",
    why: "scores beside those of the documents decide which of them are kept",
    file: "engine-sdk/src/search/relevance/best-documents.ts",
    from: "new Uint32Array(values.buffer, values.byteOffset, size * 2)",
    to: "new Uint32Array(values.buffer, 0, size * 2)",
    tests: ["engine-sdk/test/best-documents.test.ts"]
  }
]
