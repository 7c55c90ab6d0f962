// endseal/roster in browsers, Deno and other places: WebAssembly.

import './web.js';
import { compiled } from './download.js';
import { use } from './roster-module.js';
import { imports, moduleOf } from './roster-wasm.js';

export * from './roster-api.js';

const module = await compiled(new URL('./roster.wasm', import.meta.url));
use(moduleOf(await WebAssembly.instantiate(module, imports)));
