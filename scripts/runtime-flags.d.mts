export declare const denoFlags: ReadonlyArray<string>
export declare const nodeFlags: ReadonlyArray<string>
