// Inside the frame: reports to the page around it that the method came back. That page is the
// gateway's, or one that a merchant printed, of whatever origin. The message says nothing that the
// page does not know: whoever made this frame had to have the token.
{
  const { token } = document.getElementById('method-returned').dataset
  if (window.parent !== window) window.parent.postMessage({ type: 'three-d-secure method returned', token }, '*')
}
