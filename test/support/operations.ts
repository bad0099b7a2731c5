/** Every operation, for tests that walk them as values. */
export { allOperations } from "../../src/declared-operations.ts"
