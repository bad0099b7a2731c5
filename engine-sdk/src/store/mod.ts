/** Copies of stored data while it is written to, for backups. */
export { copyEnvironment } from "./copy-environment.ts"
export { copyJournal } from "./copy-journal.ts"
