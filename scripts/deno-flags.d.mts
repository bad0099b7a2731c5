export declare const denoFlags: ReadonlyArray<string>
