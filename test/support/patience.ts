/**
 * How much longer than promised something may take if the whole suite is running on the machine, as set by
 * `scripts/bootstrap.mjs`; a file that runs alone is held to the promise itself.
 */
const factor = Number(process.env.DOWSER_TEST_PATIENCE ?? 1)
export const promised = (ms: number): number => ms * factor
