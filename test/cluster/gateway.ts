// `serve` that may also call merchants of this machine, which production never does. The cluster
// starts it.
import { serveWith } from '../harness/world/serve-program.ts'

await serveWith({ callbackPolicy: { plainHttp: true, loopbackAnyPort: true } })
