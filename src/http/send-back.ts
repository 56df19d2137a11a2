// The other process of listeners.ts: it sends the handle that it receives back, so many times. Each
// time the sender gets a new handle of the same socket.
process.on('message', ({ times }: { times: number }, handle) => {
  for (let time = 0; time < times; time++) process.send!({}, handle)
})
