/** The process of the operator's API. */
import { startServing, type Serving, type ServingOptions } from '../operator/serving.ts'
import { mostBodyBytes } from './asking.ts'
import { apiServer } from './serve.ts'

export const startOperatorApi = (options: ServingOptions): Promise<Serving> =>
  startServing(options, {
    called: 'the API of operators',
    mostBodyBytes,
    routes: apiServer,
  })
