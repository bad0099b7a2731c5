/** A sample of every error that the room declares; several if a fact changes the response. */
import type { ErrorSample } from "../room.ts"
import { RoleDenied } from "../http/errors.ts"
import { MemberConflict, MemberNotFound, SignInRefused } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["SignInRefused", new SignInRefused({ message: "Wrong address or password." })],
  ["MemberNotFound", new MemberNotFound({ message: "Member mem_1 does not exist." })],
  ["MemberConflict", new MemberConflict({ message: "An organization keeps at least one owner." })],
  ["RoleDenied", new RoleDenied({ message: "This requires the role owner; yours is member." })]
]
