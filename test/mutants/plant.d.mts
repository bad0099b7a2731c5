import type { Fault } from "./faults.mjs"
export declare const planted: (text: string, fault: Pick<Fault, "from" | "to">) => string
export declare const misfits: (faults: ReadonlyArray<Fault>, read: (file: string) => string) => ReadonlyArray<string>
