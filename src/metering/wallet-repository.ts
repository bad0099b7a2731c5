/**
 * Movements of wallets: each is one statement that changes balance, reservation and ledger atomically. Amounts are
 * millionths of a credit. Each movement locks the wallet's row, so they run one after another.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export interface Balance {
  readonly balance: number
  readonly reserved: number
}
type Closing = "settle" | "release" | "expire"
const statusOf: Readonly<Record<Closing, string>> = { settle: "settled", release: "released", expire: "expired" }

export const makeWalletRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const int8 = (value: number) => sql`${String(value)}::text::int8`
  return {
    balance: (organizationId: string) =>
      Effect.map(
        sql<Balance>`SELECT balance::float8 AS balance, reserved::float8 AS reserved FROM wallets WHERE organization_id = ${organizationId}`,
        ([row]) => row ?? { balance: 0, reserved: 0 }
      ),
    topUp: (organizationId: string, amount: number, reference: string, now: number) =>
      Effect.map(
        sql<Balance>`
      WITH moved AS (INSERT INTO wallets AS w (organization_id, balance, reserved) VALUES (${organizationId}, ${int8(amount)}, 0)
          ON CONFLICT (organization_id) DO UPDATE SET balance = w.balance + excluded.balance RETURNING balance, reserved)
      SELECT balance::float8 AS balance, reserved::float8 AS reserved FROM moved`,
        ([row]) => row!
      ).pipe(
        // The ledger refers to the wallet, which may be new, so this is a second statement of the caller's transaction.
        Effect.tap(
          ({
            balance,
            reserved
          }) => sql`INSERT INTO wallet_ledger (organization_id, kind, amount, reserved, balance_after, reserved_after, reference, created_at)
        VALUES (${organizationId}, 'top_up', ${int8(amount)}, 0, ${int8(balance)}, ${int8(reserved)}, ${reference}, ${int8(now)})`
        )
      ),
    isBooked: (organizationId: string, reference: string) =>
      Effect.map(
        sql`SELECT id FROM wallet_ledger WHERE organization_id = ${organizationId} AND kind = 'top_up' AND reference = ${reference}`,
        (rows) => rows.length > 0
      ),
    /** Returns false if less is available. */
    reserve: (id: string, organizationId: string, amount: number, reference: string, now: number, expiresAt: number) =>
      Effect.map(
        sql`
      WITH moved AS (UPDATE wallets SET reserved = reserved + ${int8(amount)} WHERE organization_id = ${organizationId} AND balance - reserved >= ${int8(amount)} RETURNING balance, reserved),
        made AS (INSERT INTO wallet_reservations (id, organization_id, amount, reference, status, created_at, expires_at) SELECT ${id}, ${organizationId}, ${int8(amount)}, ${reference}, 'open', ${int8(now)}, ${int8(expiresAt)} FROM moved),
        noted AS (INSERT INTO wallet_ledger (organization_id, kind, amount, reserved, balance_after, reserved_after, reference, reservation_id, created_at)
          SELECT ${organizationId}, 'reserve', 0, ${int8(amount)}, balance, reserved, ${reference}, ${id}, ${int8(now)} FROM moved)
      SELECT balance FROM moved`,
        (rows) => rows.length > 0
      ),
    /** Charges `used` and frees the rest. False if it was closed before, or is smaller than `used`. */
    close: (id: string, how: Closing, used: number, now: number) =>
      Effect.map(
        sql`
      WITH closed AS (UPDATE wallet_reservations SET status = ${statusOf[how]}, closed_at = ${int8(now)} WHERE id = ${id} AND status = 'open' AND amount >= ${int8(used)} RETURNING organization_id, amount, reference),
        moved AS (UPDATE wallets AS w SET balance = w.balance - ${int8(used)}, reserved = w.reserved - c.amount FROM closed AS c WHERE w.organization_id = c.organization_id
          RETURNING w.organization_id, w.balance, w.reserved, c.amount, c.reference),
        noted AS (INSERT INTO wallet_ledger (organization_id, kind, amount, reserved, balance_after, reserved_after, reference, reservation_id, created_at)
          SELECT organization_id, ${how}, -${int8(used)}, -amount, balance, reserved, reference, ${id}, ${int8(now)} FROM moved)
      SELECT balance FROM moved`,
        (rows) => rows.length > 0
      ),
    renew: (id: string, now: number, expiresAt: number) =>
      Effect.map(
        sql`UPDATE wallet_reservations SET expires_at = ${int8(expiresAt)} WHERE id = ${id} AND status = 'open' AND expires_at >= ${int8(now)} RETURNING id`,
        (rows) => rows.length > 0
      ),
    overdue: (now: number, rowsMax: number) =>
      Effect.map(
        sql<{
          id: string
        }>`SELECT id FROM wallet_reservations WHERE status = 'open' AND expires_at < ${int8(now)} ORDER BY expires_at LIMIT ${rowsMax}::int4`,
        (rows) => rows.map(({ id }) => id)
      ),
    forget: (closedBefore: number, rowsMax: number) =>
      Effect.map(
        sql`DELETE FROM wallet_reservations WHERE id IN (SELECT id FROM wallet_reservations WHERE closed_at < ${int8(closedBefore)} ORDER BY closed_at LIMIT ${rowsMax}::int4) RETURNING id`,
        (rows) => rows.length
      )
  }
})
