submitForm()
