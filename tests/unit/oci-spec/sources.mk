# oci-spec: unit tests of this folder
