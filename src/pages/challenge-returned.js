// Inside the frame: reports to the gateway's page around it, and nobody else, that the browser came
// back. The page carries no data but the token of its address.
{
  const { origin, token } = document.getElementById('challenge-returned').dataset
  const around = location.ancestorOrigins
  // In a page of the merchant's nobody listens, and browsers would complain of a message that finds
  // no one.
  const ours = !around || around[0] === origin
  if (window.parent !== window && ours) window.parent.postMessage({ type: 'three-d-secure challenge returned', token }, origin)
}
