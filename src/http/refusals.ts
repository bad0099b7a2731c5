/**
 * Errors that operations return without declaring them: refusals while checking their scope or reading a query and a
 * body, and our own failures. Declared once, for the compiler and for the document.
 */
import type { ErrorsOf } from "./declared.ts"
import {
  AddressNotAllowed,
  BodyNotJson,
  CollectionNotAllowed,
  ConfigurationUnavailable,
  InputInvalid,
  InternalError,
  NotFound,
  OrganizationPaused,
  OrganizationUnavailable,
  OriginNotAllowed,
  RestrictionNotApplicable,
  RoleDenied,
  ScopeDenied,
  SessionRequired,
  Throttled,
  Unauthorized
} from "./errors.ts"

/** Errors of checking a key. */
const ofKeys = [
  Unauthorized,
  OrganizationPaused,
  OrganizationUnavailable,
  ConfigurationUnavailable,
  AddressNotAllowed,
  OriginNotAllowed,
  ScopeDenied,
  CollectionNotAllowed,
  RestrictionNotApplicable,
  Throttled
] as const
export type KeyRefusal = ErrorsOf<typeof ofKeys>
/** Errors of checking a member's session, or the operator's token. */
const ofConsole = [Unauthorized, OriginNotAllowed, RoleDenied, ConfigurationUnavailable] as const
export type ConsoleRefusal = ErrorsOf<typeof ofConsole>
/** Errors of reading a query and a body: too large, or not matching the schema. */
const ofReading = [InputInvalid, BodyNotJson, SessionRequired, Throttled] as const

const keyed = [...ofKeys, InputInvalid] as const
/** In addition to `ofReading`. `NotFound`: the organization in `/console/v1/organizations/{id}` may not exist. */
const byScope = {
  public: [],
  search: keyed,
  connector_write: keyed,
  installation: keyed,
  full: keyed,
  operator: [Unauthorized, InputInvalid, NotFound],
  console: [...ofConsole, InputInvalid, NotFound]
} as const
type Scope = keyof typeof byScope
export type CommonRefusal<S extends Scope> = ErrorsOf<(typeof byScope)[S]> | ErrorsOf<typeof ofReading> | InternalError

/** The errors that any operation of the scope may return; `isReading` if it has a query or a body. */
export const commonRefusals = (scope: Scope, isReading: boolean) => [
  ...byScope[scope],
  ...(isReading ? ofReading : []),
  InternalError
]
