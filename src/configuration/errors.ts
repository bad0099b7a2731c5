/**
 * Failures of the configuration: what a process answers that can neither read it nor vouch for what it remembers of it.
 * Every check may answer it, so that the kernel has it.
 */
export { ConfigurationUnavailable } from "../http/errors.ts"
