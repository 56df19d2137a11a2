{
  const form = document.getElementById('three-d-secure-form')
  if (form) HTMLFormElement.prototype.submit.call(form)
}
