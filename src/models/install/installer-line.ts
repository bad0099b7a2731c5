/** What the process that installs says, a line of JSON each. */
export type InstallerLine =
  | { readonly kind: "progress"; readonly step: string; readonly done: number }
  | { readonly kind: "installed"; readonly folder: string }
  | { readonly kind: "failed"; readonly message: string }
