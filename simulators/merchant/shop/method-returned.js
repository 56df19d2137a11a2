parent.postMessage('three-d-secure method returned', location.origin)
