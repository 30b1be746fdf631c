// bundle-validate asks others whether a bundle is one: the JSON Schema of
// runtime-spec, and the checks that runtime-tools makes beyond it.
//
//	bundle-validate -schema DIR [-schema DIR …] BUNDLE…
//
// A schema is the folder "schema" of a runtime-spec release on this machine;
// nothing is fetched. One line a bundle on stdout, "ok BUNDLE" or
// "not ok BUNDLE", with the complaints below it as "# …". Exit status 0 when
// all are ok, 1 when one is not, 2 when nothing could be checked.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-multierror"
	"github.com/opencontainers/runtime-tools/validate"
	"github.com/sirupsen/logrus"
	"github.com/xeipuuv/gojsonschema"
)

// schema is a compiled config-schema.json and where it came from.
type schema struct {
	dir      string
	compiled *gojsonschema.Schema
}

type dirList []string

func (d *dirList) String() string { return strings.Join(*d, " ") }

func (d *dirList) Set(value string) error {
	*d = append(*d, value)
	return nil
}

func loadSchemas(dirs []string) ([]schema, error) {
	var schemas []schema

	if len(dirs) == 0 {
		return nil, errors.New("no -schema DIR given")
	}
	for _, dir := range dirs {
		path, err := filepath.Abs(filepath.Join(dir, "config-schema.json"))
		if err != nil {
			return nil, err
		}
		compiled, err := gojsonschema.NewSchema(gojsonschema.NewReferenceLoader("file://" + path))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		schemas = append(schemas, schema{dir, compiled})
	}
	return schemas, nil
}

// checkSchema returns what the schema says against the bundle's config.json.
func (s schema) checkSchema(bundle string) []string {
	text, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		return []string{err.Error()}
	}
	result, err := s.compiled.Validate(gojsonschema.NewBytesLoader(text))
	if err != nil {
		return []string{err.Error()}
	}
	var complaints []string
	for _, problem := range result.Errors() {
		complaints = append(complaints, fmt.Sprintf("schema %s: %s", s.dir, problem))
	}
	return complaints
}

// checkTools makes each check of runtime-tools' CheckAll but the one that
// would download a schema: checkSchema has been there.
func checkTools(bundle string) []string {
	validator, err := validate.NewValidatorFromPath(bundle, true, "linux")
	if err != nil {
		return []string{err.Error()}
	}
	checks := []struct {
		name string
		run  func() error
	}{
		{"platform", validator.CheckPlatform},
		{"root", validator.CheckRoot},
		{"mandatory fields", validator.CheckMandatoryFields},
		{"version", validator.CheckSemVer},
		{"mounts", validator.CheckMounts},
		{"process", validator.CheckProcess},
		{"linux", validator.CheckLinux},
		{"annotations", validator.CheckAnnotations},
		{"hooks", validator.CheckHooks},
	}
	var complaints []string
	for _, check := range checks {
		complaints = append(complaints, flatten(check.name, check.run())...)
	}
	return complaints
}

// flatten gives one line an error. runtime-tools hands out nil pointers inside
// of non-nil interfaces when all is well.
func flatten(name string, err error) []string {
	var many *multierror.Error

	if err == nil {
		return nil
	}
	if !errors.As(err, &many) {
		return []string{fmt.Sprintf("tools, %s: %s", name, err)}
	}
	if many == nil {
		return nil
	}
	var complaints []string
	for _, one := range many.Errors {
		complaints = append(complaints, flatten(name, one)...)
	}
	return complaints
}

func main() {
	var dirs dirList

	flag.Var(&dirs, "schema", "folder with config-schema.json; may be given again")
	flag.Parse()
	logrus.SetLevel(logrus.ErrorLevel)

	schemas, err := loadSchemas(dirs)
	if err == nil && flag.NArg() == 0 {
		err = errors.New("no bundle given")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle-validate:", err)
		os.Exit(2)
	}
	status := 0
	for _, bundle := range flag.Args() {
		var complaints []string

		for _, s := range schemas {
			complaints = append(complaints, s.checkSchema(bundle)...)
		}
		complaints = append(complaints, checkTools(bundle)...)
		if len(complaints) == 0 {
			fmt.Println("ok", bundle)
			continue
		}
		status = 1
		fmt.Println("not ok", bundle)
		for _, complaint := range complaints {
			fmt.Println("#", strings.ReplaceAll(complaint, "\n", " "))
		}
	}
	os.Exit(status)
}
